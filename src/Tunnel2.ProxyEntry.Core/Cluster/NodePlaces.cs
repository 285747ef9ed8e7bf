using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>The sessions that a name has at other nodes, as far as this node knows. Immutable.</summary>
internal sealed class NodePlaces
{
    /// <summary>How many sessions of a name are known at most; further ones get no requests from this node.</summary>
    public const int Most = 128;

    private readonly NodePlace[] _all;
    private readonly NodeChoice[] _nodes;

    /// <param name="group">What the sessions have in common; empty: there is one, which has the name for itself.</param>
    /// <param name="all">The sessions, at least one.</param>
    public NodePlaces(string group, IEnumerable<NodePlace> all)
    {
        Group = group;
        _all = [.. all.OrderBy(static place => place.Rank).ThenByDescending(static place => place.Node.Epoch).Take(Most)];
        _nodes =
        [
            .. _all.GroupBy(static place => (place.Node.NodeId, place.Node.LinkAddress)).Select(static places => new NodeChoice(
                places.First().Node with { Epoch = places.Max(static place => place.Node.Epoch) },
                places.First().Rank,
                Math.Max(1, places.Where(place => place.Rank == places.First().Rank).Sum(static place => place.Weight)),
                new CrossingLinks())),
        ];
        Newest = _all.Max(static place => place.Node.Epoch);
    }

    /// <summary>The one session of a name.</summary>
    public NodePlaces(in NodeLocation location)
        : this("", [new NodePlace(location)])
    {
    }

    /// <summary>What the sessions have in common.</summary>
    public string Group { get; }

    /// <summary>The sessions, the best first.</summary>
    public IReadOnlyList<NodePlace> All => _all;

    /// <summary>The nodes, each once.</summary>
    public ReadOnlySpan<NodeChoice> Nodes => _nodes;

    /// <summary>Whether they are at the asking node itself, and at no other one.</summary>
    public bool IsHere { get; init; }

    /// <summary>The highest number of the registrations.</summary>
    public long Newest { get; }

    /// <summary>The same with a session that was registered or changed.</summary>
    public NodePlaces With(NodePlace place) => new(Group, _all.Where(other => other.Member != place.Member).Append(place));

    /// <summary>The same without some of the sessions; null: none is left.</summary>
    public NodePlaces? Without(Predicate<NodePlace> isGone) =>
        Array.TrueForAll(_all, isGone) ? null : new NodePlaces(Group, _all.Where(place => !isGone(place)));
}
