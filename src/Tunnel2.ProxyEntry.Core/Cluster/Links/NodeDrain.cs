using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Lifetime;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// Takes this node out of service for a while: it is not ready, takes no agent, and asks its agents to go to other nodes, whose sessions
/// then take the names. WebSockets that it passes to other nodes get a goodbye. It serves what comes. One caller at a time.
/// </summary>
internal sealed class NodeDrain(
    DrainSignal signal, Readiness readiness, UplinkHeartbeat uplinks, ILogger<NodeDrain> logger, NodeLinks? links = null)
{
    /// <summary>Takes it out of service, or back into it. Nothing happens when it is already as it should be.</summary>
    public void Set(bool isDrained)
    {
        if (!signal.SetDrained(isDrained))
        {
            return;
        }

        readiness.SetTrouble(ReadinessTrouble.Drained, isDrained ? "taken out of service by 'cluster drain'" : null);
        if (!isDrained)
        {
            NodeLinkLog.DrainUndone(logger);
            return;
        }

        var all = uplinks.Snapshot();
        NodeLinkLog.Drained(logger, all.Count);
        foreach (var uplink in all)
        {
            // Only a notice: an agent that finds no other node continues here.
            uplink.SendGoAwayNotice(SessionEndReason.Shutdown, signal.Reason);
        }

        links?.MarkLeaving();
    }
}
