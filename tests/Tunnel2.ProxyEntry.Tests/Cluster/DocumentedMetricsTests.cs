using System.Diagnostics.Metrics;
using System.Text.RegularExpressions;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Cluster;

/// <summary>docs/cluster.md lists the metrics that a node of a cluster has beside others, and no others.</summary>
public sealed class DocumentedMetricsTests
{
    [Fact]
    public void Those_of_the_directory() => AssertListed("tunnel2_entry_cluster_", static factory =>
    {
        var metrics = new ClusterMetrics(factory);
        metrics.Observe(static () => 0, static () => true, static () => 0);
        metrics.ObserveShares(static () => 0);
    });

    [Fact]
    public void Those_of_node_links() => AssertListed("tunnel2_entry_node_", static factory => _ = new NodeLinkMetrics(factory));

    private static void AssertListed(string prefix, Action<IMeterFactory> make)
    {
        using var factory = new TestMeterFactory();
        var names = new SortedSet<string>(StringComparer.Ordinal);
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, _) =>
        {
            if (instrument.Meter.Scope == factory)
            {
                names.Add(instrument.Name.Replace('.', '_') + EndOf(instrument));
            }
        };
        listener.Start();
        make(factory);
        var rows = Regex.Matches(
            File.ReadAllText(Path.Combine(RepositoryFolder.Path, "docs", "cluster.md")), $@"^\| `({prefix}[a-z_]+)` \|",
            RegexOptions.Multiline);
        Assert.Equal(names, rows.Select(static row => row.Groups[1].Value).Order(StringComparer.Ordinal));
    }

    private static string EndOf(Instrument instrument) => instrument.Unit == "s" ? "_seconds"
        : instrument is Counter<long> or ObservableCounter<long> ? "_total"
        : "";
}
