namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>What the cluster says of a name.</summary>
/// <param name="Places">The nodes that serve it; null: none does, or there is no answer.</param>
/// <param name="AwaitedFor">
/// Where no node serves it now and one did until lately: how much longer its agent is expected, which may come back to any node. That is
/// while the name is kept for its owner, and for some seconds after the end of its node. Zero: no longer. Null: no node has served it
/// lately.
/// </param>
internal readonly record struct LocatedName(NodePlaces? Places, TimeSpan? AwaitedFor = null)
{
    /// <summary>The cluster cannot be asked now: a node may serve the name or not.</summary>
    public static LocatedName Unanswered { get; } = new() { IsUnanswered = true };

    /// <summary>Whether there is no answer now.</summary>
    public bool IsUnanswered { get; private init; }
}
