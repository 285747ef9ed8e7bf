using Tunnel2.Inspection.Capture;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>What an exchange moved, for its summary. Each field is written by one of the exchange's two pumps only.</summary>
internal sealed class ExchangeCounters
{
    public long RequestBytes { get; set; }

    public long ResponseBytes { get; set; }

    public int StatusCode { get; set; }

    /// <summary>What an answer that is no HTTP begins with, where that can be read.</summary>
    public string? Greeting { get; set; }

    /// <summary>The service that the request goes to, where the tunnel has several.</summary>
    public string? Service { get; set; }

    /// <summary>Why the agent refused the request, where its reason does not say it.</summary>
    public string? Refusal { get; set; }

    /// <summary>Keeps what passes, for a user who looks at it; null where no user does: all that the pumps ask.</summary>
    public ExchangeCapture? Capture { get; set; }

    public void Reset()
    {
        Capture = null;
        Greeting = null;
        Service = null;
        Refusal = null;
        RequestBytes = 0;
        ResponseBytes = 0;
        StatusCode = 0;
    }
}
