using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>Opens the feed of a node.</summary>
/// <param name="location">The node.</param>
/// <param name="cancellationToken">Gives up.</param>
/// <returns>Its bytes, or why there are none.</returns>
internal delegate Task<(Stream? Feed, NodeFeedProblem? Problem)> FeedOpener(NodeLocation location, CancellationToken cancellationToken);
