namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What the store knows about a limit.</summary>
/// <param name="Own">The share that the asking node has in the store; 0: none.</param>
/// <param name="Others">What the others have said, and those that may spend although nothing is heard of them.</param>
/// <param name="Nodes">How many nodes have sessions of the name, with those that are silent.</param>
internal readonly record struct ShareView(double Own, IReadOnlyList<ShareReport> Others, int Nodes)
{
    /// <summary>A node without a report for this long may be cut off. It reports more often where it has a share.</summary>
    public static readonly TimeSpan Silence = TimeSpan.FromSeconds(2.5);

    /// <summary>The same for the lease of a node that reports nothing, because no visitor asked it for the name.</summary>
    public static readonly TimeSpan SilenceOfLease = TimeSpan.FromSeconds(3.5);

    /// <summary>How long others count on the last share of a silent node. Then it has an equal part.</summary>
    public static readonly TimeSpan Expiry = TimeSpan.FromSeconds(6);

    /// <summary>How long others count on what a lost node may spend, if it is cut off. Then it is forgotten.</summary>
    public static readonly TimeSpan Reserved = TimeSpan.FromMinutes(5);

    /// <summary>The same view after an outage: others may not have their leases again, and spend what they may for a moment.</summary>
    public ShareView AfterOutage() => this with
    {
        Others = [.. Others.Select(static other => other.IsLost ? other with { IsLost = false, IsSilent = true } : other)],
    };

    /// <summary>What the rows of a store say. All ages are times of the store's clock.</summary>
    /// <param name="node">The node that asks.</param>
    /// <param name="reports">The last reports, with their ages.</param>
    /// <param name="leases">The nodes that have sessions of the name, with the time since they renewed their lease.</param>
    public static ShareView Of(
        string node, IEnumerable<(ShareReport Report, TimeSpan Age)> reports, IReadOnlyDictionary<string, TimeSpan> leases)
    {
        var own = 0.0;
        var others = new List<ShareReport>();
        var silent = new Dictionary<string, bool>(StringComparer.Ordinal);
        foreach (var (other, lease) in leases)
        {
            if (other != node && lease > SilenceOfLease && lease < Reserved)
            {
                silent[other] = lease >= NodeLease.Length;
            }
        }

        foreach (var (report, age) in reports)
        {
            if (report.Node == node)
            {
                own = age < Expiry ? report.Share : 0;
            }
            else if (age <= Silence || (age < Expiry && !leases.ContainsKey(report.Node)))
            {
                silent.Remove(report.Node);
                others.Add(report);
            }
            else if (age < Reserved && leases.TryGetValue(report.Node, out var lease) && lease < Reserved)
            {
                silent.Remove(report.Node);
                others.Add(Unheard(report.Node, age < Expiry ? report.Share : 0, isLost: age >= Expiry && lease >= NodeLease.Length));
            }
        }

        others.AddRange(silent.Select(static other => Unheard(other.Key, 0, other.Value)));
        return new ShareView(own, others, leases.Count(static pair => pair.Value < Reserved));
    }

    private static ShareReport Unheard(string node, double share, bool isLost) => new(node, 0, share, !isLost, isLost);
}
