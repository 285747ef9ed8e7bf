namespace Tunnel2.Client.Core.Exchanges;

/// <summary>What an exchange moved, for its summary. Each field is written by one of the exchange's two pumps only.</summary>
internal sealed class ExchangeCounters
{
    public long RequestBytes { get; set; }

    public long ResponseBytes { get; set; }

    public int StatusCode { get; set; }

    /// <summary>What an answer that is no HTTP begins with, where that can be read.</summary>
    public string? Greeting { get; set; }

    public void Reset()
    {
        Greeting = null;
        RequestBytes = 0;
        ResponseBytes = 0;
        StatusCode = 0;
    }
}
