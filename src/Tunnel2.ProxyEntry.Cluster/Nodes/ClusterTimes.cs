using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Nodes;

/// <summary>The times of a cluster. docs/cluster.md has them too.</summary>
internal static class ClusterTimes
{
    /// <summary>How long a node lives in the database without a renewal.</summary>
    public static readonly TimeSpan Lease = NodeLease.Length;

    /// <summary>How much earlier a node takes its own lease for over: clocks run differently, and answers take time.</summary>
    public static readonly TimeSpan Margin = TimeSpan.FromSeconds(1);

    /// <summary>How often a lease is renewed.</summary>
    public static readonly TimeSpan Renewal = TimeSpan.FromSeconds(2);

    /// <summary>Changes that come one after the other do not renew the lease again within this time.</summary>
    public static readonly TimeSpan LeastRenewal = TimeSpan.FromSeconds(1);

    /// <summary>How often a node compares its names with the database.</summary>
    public static readonly TimeSpan Comparison = TimeSpan.FromSeconds(10);

    /// <summary>How often old rows are removed.</summary>
    public static readonly TimeSpan Tidying = TimeSpan.FromMinutes(5);

    /// <summary>The first wait after a failure; each further one is twice as long.</summary>
    public static readonly TimeSpan FirstWait = TimeSpan.FromMilliseconds(250);

    /// <summary>The longest wait after a failure.</summary>
    public static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(5);

    /// <summary>How long a look at the database may take, with the wait for a processor.</summary>
    public static readonly TimeSpan Look = TimeSpan.FromSeconds(3);
}
