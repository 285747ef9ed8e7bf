using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>What came of opening a stream to the node of a session.</summary>
/// <param name="Obstacle">Without a stream: what is in the way.</param>
/// <param name="KeptFor">Where no node serves the name: <see cref="LocatedName.KeptFor"/>.</param>
internal readonly record struct NodeOpening(NodeObstacle Obstacle, TimeSpan? KeptFor = null)
{
    /// <summary>The stream, or null.</summary>
    public TunnelStream? Stream { get; init; }
}
