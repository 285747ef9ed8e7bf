namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>What the cluster says of a name.</summary>
/// <param name="Places">The nodes that serve it; null: none does, or the answer is not available now.</param>
/// <param name="KeptFor">
/// Where no node serves it now and one did until lately: how much longer it is kept for its owner, whose agent may come back to any node.
/// Zero: its time is over. Null: no node has served it lately.
/// </param>
internal readonly record struct LocatedName(NodePlaces? Places, TimeSpan? KeptFor = null);
