using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>The other nodes of the cluster. Only a node has it. Thread-safe.</summary>
internal interface IOtherNodes
{
    /// <summary>The name of this one, which changes where another process takes it.</summary>
    string Self { get; }

    /// <summary>Whether there were others at the last look: agents that leave this node then have somewhere to go.</summary>
    bool Exist { get; }

    /// <summary>Those of the last look; at most 16.</summary>
    IReadOnlyList<NodeLocation> Known { get; }

    /// <summary>Those that have been there, and whose lease ended in the last minutes; at most 16.</summary>
    IReadOnlyList<LostNode> Lost { get; }

    /// <summary>The next look is due at once.</summary>
    void Ask();

    /// <summary>
    /// What agents learn of this node and of others, without any while it knows none that agents can reach; null: there will be nothing.
    /// </summary>
    NodeAnnouncement? Announcement { get; }

    /// <summary>Called after <see cref="Announcement"/> has changed. It must not block.</summary>
    event Action? Announced;
}
