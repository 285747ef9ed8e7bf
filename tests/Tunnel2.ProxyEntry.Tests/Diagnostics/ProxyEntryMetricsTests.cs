using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics;

public sealed class ProxyEntryMetricsTests : IDisposable
{
    private readonly TestMeterFactory _factory = new();
    private readonly PrometheusCollector _collector;
    private readonly ProxyEntryMetrics _metrics;

    public ProxyEntryMetricsTests()
    {
        _collector = new PrometheusCollector(_factory, TimeProvider.System);
        _metrics = new ProxyEntryMetrics(_factory);
    }

    [Fact]
    public void Everything_that_happens_is_counted()
    {
        _metrics.SessionStarted();
        _metrics.SessionStarted();
        _metrics.SessionEnded(TimeSpan.FromSeconds(5), "superseded");
        _metrics.SessionRejected("name-taken");

        var samples = PrometheusParser.Parse(_collector.Collect()).Samples;

        Assert.Equal(1, samples["tunnel2_entry_sessions_active"]);
        Assert.Equal(1, samples["tunnel2_entry_sessions_rejected_total{error_type=name-taken}"]);
        Assert.Equal(1, samples["tunnel2_entry_session_duration_seconds_count{error_type=superseded}"]);
    }

    public void Dispose()
    {
        _collector.Dispose();
        _factory.Dispose();
    }
}
