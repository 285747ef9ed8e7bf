using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>What a name has at one node: that node chooses among its own sessions.</summary>
/// <param name="Node">The node, with the highest number of its registrations of the name.</param>
/// <param name="Rank">How good the best of its sessions are; see <see cref="NodePlace.Rank"/>.</param>
/// <param name="Weight">The shares of these in all, at least 1.</param>
/// <param name="Crossing">What requests for the name have shown of the links to the node.</param>
internal readonly record struct NodeChoice(NodeLocation Node, int Rank, int Weight, CrossingLinks Crossing);
