using System.Diagnostics.Metrics;
using System.Text.RegularExpressions;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Cluster.Links;

public sealed partial class NodeLinkMetricsTests
{
    [Fact]
    public void The_document_lists_the_metrics_that_there_are_and_no_others()
    {
        using var factory = new Factory();
        var names = new SortedSet<string>(StringComparer.Ordinal);
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, _) =>
        {
            if (instrument.Meter == factory.Meter)
            {
                var unit = instrument switch
                {
                    Histogram<double> => "_seconds",
                    Counter<long> or ObservableCounter<long> => "_total",
                    _ => "",
                };
                names.Add(instrument.Name.Replace('.', '_') + unit);
            }
        };
        listener.Start();
        _ = new NodeLinkMetrics(factory);
        var text = File.ReadAllText(Path.Combine(RepositoryFolder.Path, "docs", "cluster.md"));
        Assert.Equal(names, Row().Matches(text).Select(static match => match.Groups[1].Value).Order(StringComparer.Ordinal));
    }

    [GeneratedRegex(@"^\| `(tunnel2_entry_node_[a-z_]+)` \|", RegexOptions.Multiline)]
    private static partial Regex Row();

    private sealed class Factory : IMeterFactory
    {
        public Meter? Meter { get; private set; }

        public Meter Create(MeterOptions options) => Meter = new Meter(options);

        public void Dispose() => Meter?.Dispose();
    }
}
