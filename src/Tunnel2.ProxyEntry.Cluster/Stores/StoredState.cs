namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What a registration is for in the store. The numbers are in its table.</summary>
internal enum StoredState
{
    /// <summary>A session serves the name.</summary>
    Online = 0,

    /// <summary>A session serves it and lets a successor of the same owner take it.</summary>
    HandingOver = 1,

    /// <summary>No node serves it; it may be kept for its owner.</summary>
    Left = 2,
}
