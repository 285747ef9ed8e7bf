using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Limits;

/// <summary>The times of shared limits. docs/cluster.md has them too.</summary>
internal static class ShareTimes
{
    /// <summary>How often a node reports a name that is far below its limit.</summary>
    public static readonly TimeSpan Slow = TimeSpan.FromSeconds(1);

    /// <summary>How often it reports one that is near its limit.</summary>
    public static readonly TimeSpan Fast = TimeSpan.FromMilliseconds(250);

    /// <summary>How often it reports one of which others have yet to give up a part.</summary>
    public static readonly TimeSpan Short = TimeSpan.FromMilliseconds(100);

    /// <summary>How often it reports one of which no other node has sessions.</summary>
    public static readonly TimeSpan Lone = TimeSpan.FromSeconds(2);

    /// <summary>The shortest time between two reports, in any case.</summary>
    public static readonly TimeSpan Least = TimeSpan.FromMilliseconds(50);

    /// <summary>
    /// How long a node spends its last share without the database. Then it has an equal part: others keep that for it before, and count on
    /// the share until later. <see cref="ShareView"/> has their times.
    /// </summary>
    public static readonly TimeSpan Kept = TimeSpan.FromSeconds(4);

    /// <summary>How long it has the equal part. Others take it a moment later, so the node continues with half of it.</summary>
    public static readonly TimeSpan Reserved = ShareView.Reserved - TimeSpan.FromSeconds(10);

    /// <summary>How long after an outage a node takes no more than an equal part: others may not be back yet.</summary>
    public static readonly TimeSpan Return = TimeSpan.FromSeconds(2);

    /// <summary>How long after an outage a node takes no other one for lost: it may not have its lease again.</summary>
    public static readonly TimeSpan Patience = ClusterTimes.Lease;

    /// <summary>After this time without a request a node gives its share back.</summary>
    public static readonly TimeSpan Idle = TimeSpan.FromSeconds(5);

    /// <summary>How often a node looks whether others have sessions of a name for which nothing comes here.</summary>
    public static readonly TimeSpan IdleLook = TimeSpan.FromSeconds(10);
}
