using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>What the viewers of this node want to see of the cluster. Immutable.</summary>
/// <param name="Any">Whether one looks at all.</param>
/// <param name="ByNode">Patterns of a node's own channels, by node; <c>*</c>: of all nodes.</param>
internal sealed record Wanted(bool Any, IReadOnlyDictionary<string, IReadOnlySet<string>> ByNode)
{
    /// <summary>The text before a channel of another node: <c>at.{node}.{channel}</c>.</summary>
    public const string Prefix = "at.";

    /// <summary>Patterns for one node at most: the hub there accepts a hundred subscriptions.</summary>
    public const int MostPatterns = 90;

    /// <summary>No viewer looks.</summary>
    public static Wanted Nothing { get; } = new(false, new Dictionary<string, IReadOnlySet<string>>());

    /// <summary>Collects it from all subscriptions. Other nodes are no viewers: what they want ends at the node that they ask.</summary>
    public static Wanted Of(Hub hub)
    {
        var names = new HashSet<string>(StringComparer.Ordinal);
        foreach (var client in hub.Clients())
        {
            if (!client.IsNode)
            {
                lock (client.Gate)
                {
                    names.UnionWith(client.Places.Select(static place => place.Channel.Name).Where(
                        static name => name.StartsWith(Prefix, StringComparison.Ordinal) || name is "cluster.nodes" or "cluster.stats"));
                }
            }
        }

        return names.Count == 0 ? Nothing : Of(names);
    }

    /// <summary>The same from the names of subscriptions.</summary>
    public static Wanted Of(IEnumerable<string> names)
    {
        var byNode = new Dictionary<string, IReadOnlySet<string>>(StringComparer.Ordinal);
        foreach (var name in names)
        {
            // Only what a node has itself: not what it shows of others.
            if (name.Split('.', 3) is ["at", var node, var pattern] && node != ">"
                && (pattern.StartsWith("node.", StringComparison.Ordinal) || pattern.StartsWith("session.", StringComparison.Ordinal)))
            {
                if (!byNode.TryGetValue(node, out var patterns))
                {
                    byNode.Add(node, patterns = new HashSet<string>(StringComparer.Ordinal));
                }

                if (patterns.Count < MostPatterns / 2)
                {
                    ((HashSet<string>)patterns).Add(pattern);
                }
            }
        }

        return new Wanted(true, byNode);
    }

    /// <summary>What is wanted of a node.</summary>
    public IReadOnlySet<string> For(string node)
    {
        var patterns = new HashSet<string>(StringComparer.Ordinal);
        foreach (var which in (ReadOnlySpan<string>)[node, "*"])
        {
            if (ByNode.TryGetValue(which, out var some))
            {
                patterns.UnionWith(some);
            }
        }

        return patterns;
    }
}
