namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>Which node serves a name.</summary>
/// <param name="NodeId">The node.</param>
/// <param name="LinkAddress">Where it accepts node links, as it says itself: host:port.</param>
/// <param name="Epoch">The number of the registration that is there.</param>
internal readonly record struct NodeLocation(string NodeId, string LinkAddress, long Epoch);
