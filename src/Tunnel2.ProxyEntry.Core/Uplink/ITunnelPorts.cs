using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>A port for a session of TCP, or the answer for an agent that gets none; both null for a session that needs none.</summary>
/// <param name="Lease">The port, which the caller gives back.</param>
/// <param name="Reject">The refusal.</param>
internal readonly record struct TunnelPort(PortLease? Lease, RejectMessage? Reject)
{
    /// <summary>Whether the session's name has, or had just now, this port already.</summary>
    public bool IsKnown { get; init; }
}

/// <summary>The public listeners of sessions that do not carry HTTP. Thread-safe.</summary>
internal interface ITunnelPorts
{
    /// <summary>Why sessions of a kind are not carried, in a sentence for the agent; null when they are.</summary>
    string? FindObstacle(SessionKind kind);

    /// <summary>Gives a session of TCP or UDP a port, and listens on it.</summary>
    /// <param name="kind">Which of the two.</param>
    /// <param name="name">The session's name.</param>
    /// <param name="owner">Its owner, for whom a port is kept.</param>
    /// <param name="wanted">The port that the agent wants; 0: any.</param>
    /// <param name="takesAnother">Whether another port will do.</param>
    /// <param name="cancellationToken">Gives up.</param>
    ValueTask<TunnelPort> TakeAsync(
        SessionKind kind, string name, AgentIdentity owner, int wanted, bool takesAnother, CancellationToken cancellationToken);
}
