using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Cluster.Diagnostics;

/// <summary>The metrics of a node's place in its cluster, in the meter of <see cref="ProxyEntryMetrics"/>. Thread-safe.</summary>
internal sealed class ClusterMetrics
{
    private readonly Meter _meter;
    private readonly Counter<long> _misses;
    private readonly Counter<long> _lost;
    private readonly Counter<long> _refused;
    private readonly Counter<long> _shares;

    public ClusterMetrics(IMeterFactory factory)
    {
        _meter = factory.Create(ProxyEntryMetrics.MeterName);
        _misses = _meter.CreateCounter<long>(
            "tunnel2.entry.cluster.misses", "{lookup}", "Look-ups of names that the cache did not know, by outcome.");
        _lost = _meter.CreateCounter<long>(
            "tunnel2.entry.cluster.names.lost", "{session}", "Sessions whose name another node took.");
        _refused = _meter.CreateCounter<long>(
            "tunnel2.entry.cluster.registrations.refused", "{registration}",
            "Registrations refused because the cluster's database was not available.");
        _shares = _meter.CreateCounter<long>(
            "tunnel2.entry.cluster.shares.exchanged", "{exchange}", "Exchanges of shares of limits with other nodes, by outcome.");
    }

    /// <summary>Shows the node's state, which is read only when asked.</summary>
    /// <param name="leaseAge">The seconds since the lease was renewed.</param>
    /// <param name="isUp">Whether the database answers.</param>
    /// <param name="cached">How many names are in the cache.</param>
    public void Observe(Func<double> leaseAge, Func<bool> isUp, Func<int> cached)
    {
        _meter.CreateObservableGauge("tunnel2.entry.cluster.lease.age", leaseAge, "s", "Time since this node's lease was renewed.");
        _meter.CreateObservableGauge(
            "tunnel2.entry.cluster.database.up", () => isUp() ? 1 : 0, "{database}", "1 while new registrations go to the database.");
        _meter.CreateObservableGauge(
            "tunnel2.entry.cluster.cache.names", cached, "{name}", "Names of other nodes in the cache.");
    }

    /// <summary>Shows how many limits this node shares with others, which is read only when asked.</summary>
    public void ObserveShares(Func<int> shared) => _meter.CreateObservableGauge(
        "tunnel2.entry.cluster.shared.limits", shared, "{limit}", "Limits of which this node spends a share.");

    /// <summary>Shares of limits were exchanged with other nodes, or could not be.</summary>
    public void SharesExchanged(bool isDone) =>
        _shares.Add(1, new KeyValuePair<string, object?>("outcome", isDone ? "done" : "unavailable"));

    /// <summary>A look-up found nothing in the cache.</summary>
    /// <param name="outcome"><c>found</c>, <c>unknown</c>, <c>limited</c> or <c>unavailable</c>.</param>
    public void Missed(string outcome) => _misses.Add(1, new KeyValuePair<string, object?>("outcome", outcome));

    /// <summary>Another node took a name of this one.</summary>
    public void NameLost() => _lost.Add(1);

    /// <summary>A registration was refused without the database.</summary>
    public void RegistrationRefused() => _refused.Add(1);
}
