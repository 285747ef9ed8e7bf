using Tunnel2.Inspection.Capture;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>What a tunnel that is inspected shares with its inspector. Thread-safe.</summary>
internal sealed class AgentInspection
{
    private volatile IReadOnlyList<string> _publicUrls = [];

    /// <param name="store">Keeps the exchanges.</param>
    public AgentInspection(ExchangeStore store) => Store = store;

    /// <summary>Keeps the exchanges.</summary>
    public ExchangeStore Store { get; }

    /// <summary>The public URLs of the last session; empty until there was one.</summary>
    public IReadOnlyList<string> PublicUrls => _publicUrls;

    /// <summary>A session is open.</summary>
    public void SetPublicUrls(IReadOnlyList<string> urls) => _publicUrls = urls;
}
