using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// The timer of node links, which finds peers that are dead. They have one of their own, because a stop says goodbye to all uplinks of the
/// other one, and links have to last until the sessions have left.
/// </summary>
internal sealed class NodeHeartbeat(TimeProvider timeProvider, ContainedFaults faults) : IDisposable
{
    /// <summary>The timer.</summary>
    public UplinkHeartbeat Timer { get; } = new(timeProvider, faults);

    /// <inheritdoc/>
    public void Dispose() => Timer.Dispose();
}
