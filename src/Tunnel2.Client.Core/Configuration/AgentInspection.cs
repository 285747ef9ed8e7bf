using Tunnel2.Inspection.Capture;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>What a tunnel that is inspected shares with its inspector. Thread-safe.</summary>
internal sealed class AgentInspection
{
    private volatile IReadOnlyList<string> _publicUrls = [];
    private int _openSessions;

    /// <param name="store">Keeps the exchanges.</param>
    public AgentInspection(ExchangeStore store) => Store = store;

    /// <summary>Keeps the exchanges.</summary>
    public ExchangeStore Store { get; }

    /// <summary>The public URLs of the last session; empty until there was one.</summary>
    public IReadOnlyList<string> PublicUrls => _publicUrls;

    /// <summary>Sessions with the server that are open: with nodes of a cluster there may be several.</summary>
    public int OpenSessions => Volatile.Read(ref _openSessions);

    /// <summary>A session is open, until the result is disposed of, once.</summary>
    /// <param name="urls">Its public URLs.</param>
    public IDisposable Open(IReadOnlyList<string> urls)
    {
        _publicUrls = urls;
        Add(1);
        return new OpenSession(this);
    }

    private void Add(int count)
    {
        Interlocked.Add(ref _openSessions, count);
        Store.OnChanged();
    }

    private sealed class OpenSession(AgentInspection inspection) : IDisposable
    {
        public void Dispose() => inspection.Add(-1);
    }
}
