using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The sessions of one agent that run, those that only finish what they carry included. A server that has one of them does not cut it for a
/// new session: an address may lead where the agent is already. Thread-safe.
/// </summary>
internal sealed class RunningSessions
{
    private readonly Lock _gate = new();
    private readonly List<Guid> _ids = [];

    /// <summary>A session has begun.</summary>
    public void Add(Guid id)
    {
        lock (_gate)
        {
            _ids.Add(id);
        }
    }

    /// <summary>A session is over.</summary>
    public void Remove(Guid id)
    {
        lock (_gate)
        {
            _ids.Remove(id);
        }
    }

    /// <summary>Those that began last, as many as a HELLO may have.</summary>
    public Guid[] Latest()
    {
        lock (_gate)
        {
            return [.. _ids.TakeLast(HelloMessage.MaxRunning)];
        }
    }
}
