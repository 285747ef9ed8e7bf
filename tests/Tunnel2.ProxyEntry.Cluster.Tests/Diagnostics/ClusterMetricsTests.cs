using System.Diagnostics.Metrics;
using System.Text.RegularExpressions;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Diagnostics;

public sealed partial class ClusterMetricsTests
{
    [Fact]
    public void The_document_lists_the_metrics_that_there_are_and_no_others()
    {
        using var factory = new Factory();
        var metrics = new ClusterMetrics(factory);
        var names = new SortedSet<string>(StringComparer.Ordinal);
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, _) =>
        {
            if (instrument.Meter == factory.Meter)
            {
                var unit = instrument.Unit == "s" ? "_seconds" : instrument is Counter<long> ? "_total" : "";
                names.Add(instrument.Name.Replace('.', '_') + unit);
            }
        };
        listener.Start();
        metrics.Observe(static () => 0, static () => true, static () => 0);
        metrics.ObserveShares(static () => 0);
        var text = File.ReadAllText(Path.Combine(RepositoryFolder.Path, "docs", "cluster.md"));
        Assert.Equal(names, Row().Matches(text).Select(static match => match.Groups[1].Value).Order(StringComparer.Ordinal));
    }

    [GeneratedRegex(@"^\| `(tunnel2_entry_cluster_[a-z_]+)` \|", RegexOptions.Multiline)]
    private static partial Regex Row();

    private sealed class Factory : IMeterFactory
    {
        public Meter? Meter { get; private set; }

        public Meter Create(MeterOptions options) => Meter = new Meter(options);

        public void Dispose() => Meter?.Dispose();
    }
}
