namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>
/// What a node is in the store while it has a lease. A lease that was lost never comes back: the next one has another number.
/// </summary>
/// <param name="Node">The node.</param>
/// <param name="Incarnation">The number of the lease, of the same sequence as epochs. Names of another number are not the node's.</param>
internal sealed record NodeLease(string Node, long Incarnation)
{
    /// <summary>How long a node lives in the store without a renewal.</summary>
    public static readonly TimeSpan Length = TimeSpan.FromSeconds(10);
}
