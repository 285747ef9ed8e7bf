using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What a node finds around it in the store.</summary>
/// <param name="IsDrained">Whether an operator wants it out of service.</param>
/// <param name="Others">Some other nodes that live, with their addresses; empty: there is none.</param>
internal sealed record NodeSurroundings(bool IsDrained, IReadOnlyList<NodeLocation> Others)
{
    /// <summary>How many nodes an agent hears of: it needs one or two, and they have to fit into its WELCOME.</summary>
    public const int MostAnnounced = 8;

    /// <summary>How long a node counts as lost.</summary>
    public static readonly TimeSpan LostFor = LostNode.ShownFor;

    /// <summary>Nodes whose lease ended within <see cref="LostFor"/>, and how long ago it did; at most 16.</summary>
    public IReadOnlyList<(NodeLocation Location, TimeSpan Ago)> Lost { get; init; } = [];

    /// <summary>The domains of some other nodes that live; empty where a node of the release before says none.</summary>
    public IReadOnlyList<(string Node, string Domain)> Domains { get; init; } = [];

    /// <summary>Some other nodes that live, are in service and have an address for agents, in the order of this node.</summary>
    public IReadOnlyList<AnnouncedNode> Announced { get; init; } = [];
}
