namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What a node finds around it in the store.</summary>
/// <param name="IsDrained">Whether an operator wants it out of service.</param>
/// <param name="Others">Some other nodes that live, drawn by lot, with their addresses; empty: there is none.</param>
internal sealed record NodeSurroundings(bool IsDrained, IReadOnlyList<NodeLocation> Others);
