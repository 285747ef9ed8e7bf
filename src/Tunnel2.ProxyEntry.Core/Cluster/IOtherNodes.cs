using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>The other nodes of the cluster. Only a node has it. Thread-safe.</summary>
internal interface IOtherNodes
{
    /// <summary>Whether there were others at the last look: agents that leave this node then have somewhere to go.</summary>
    bool Exist { get; }

    /// <summary>What agents are told of this node and of others; null: there is nothing to tell.</summary>
    NodeAnnouncement? Announcement { get; }
}
