namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What the store knows about a limit, without reports that are too old.</summary>
/// <param name="Own">The share that the asking node has in the store; 0: none.</param>
/// <param name="Others">What the others have said.</param>
/// <param name="Nodes">How many nodes that live have sessions of the name.</param>
internal readonly record struct ShareView(double Own, IReadOnlyList<ShareReport> Others, int Nodes);
