namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>The parts of the server that may have a temporary trouble.</summary>
internal enum ReadinessTrouble
{
    /// <summary>An event loop serves no connection.</summary>
    Loops,

    /// <summary>The node is cut off from its cluster.</summary>
    Cluster,

    /// <summary>An operator has taken the node out of service.</summary>
    Drained,
}
