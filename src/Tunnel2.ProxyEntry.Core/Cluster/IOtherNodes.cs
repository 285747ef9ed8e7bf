namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>The other nodes of the cluster. Only a node has it. Thread-safe.</summary>
internal interface IOtherNodes
{
    /// <summary>Whether there were others at the last look: agents that leave this node then have somewhere to go.</summary>
    bool Exist { get; }
}
