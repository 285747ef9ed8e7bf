namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>Why a request finds no stream at another node.</summary>
internal enum NodeObstacle
{
    /// <summary>No node serves the name.</summary>
    NoNode,

    /// <summary>Whether a node serves the name is not known: the cluster cannot be asked now.</summary>
    Unanswered,

    /// <summary>The node that serves it cannot be reached. If it is gone, the agent connects to another one.</summary>
    Unreachable,

    /// <summary>
    /// The session is between two places: this node is just registering it, or the node that the cluster names has given it up.
    /// </summary>
    Moving,
}
