using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>The other nodes of the cluster. Only a node has it. Thread-safe.</summary>
internal interface IOtherNodes
{
    /// <summary>Whether there were others at the last look: agents that leave this node then have somewhere to go.</summary>
    bool Exist { get; }

    /// <summary>Those of the last look; at most 16.</summary>
    IReadOnlyList<NodeLocation> Known { get; }

    /// <summary>The next look is due at once.</summary>
    void Ask();

    /// <summary>What agents are told of this node and of others; null: there is nothing to tell.</summary>
    NodeAnnouncement? Announcement { get; }
}
