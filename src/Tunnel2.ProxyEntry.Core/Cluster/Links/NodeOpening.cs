using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>What came of opening a stream to the node of a session.</summary>
/// <param name="Obstacle">Without a stream: what is in the way.</param>
/// <param name="AwaitedFor">Where no node serves the name: <see cref="LocatedName.AwaitedFor"/>.</param>
internal readonly record struct NodeOpening(NodeObstacle Obstacle, TimeSpan? AwaitedFor = null)
{
    /// <summary>The stream, or null.</summary>
    public TunnelStream? Stream { get; init; }
}
