using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
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
        _metrics.StreamStarted();
        _metrics.StreamStarted();
        _metrics.StreamEnded();
        _metrics.RequestEnded(RequestOutcome.Completed, 204, TimeSpan.FromMilliseconds(3));
        _metrics.RequestEnded(RequestOutcome.VisitorAborted, 0, TimeSpan.FromSeconds(1));
        _metrics.RequestFailed(ProxyError.BackendRefused);
        _metrics.BytesReceived(10);
        _metrics.BytesSent(20);
        _metrics.SessionStarted();
        _metrics.SessionStarted();
        _metrics.SessionEnded(TimeSpan.FromSeconds(5), "superseded");
        _metrics.SessionRejected("name-taken");

        var samples = PrometheusParser.Parse(_collector.Collect()).Samples;

        Assert.Equal(1, samples["tunnel2_entry_streams_active"]);
        Assert.Equal(1, samples["tunnel2_entry_requests_total{http_response_status_class=2xx,outcome=completed}"]);
        Assert.Equal(1, samples["tunnel2_entry_requests_total{http_response_status_class=none,outcome=visitor_aborted}"]);
        Assert.Equal(0.003, samples["tunnel2_entry_request_duration_seconds_sum{http_response_status_class=2xx,outcome=completed}"]);
        Assert.Equal(1, samples["tunnel2_entry_errors_total{error_type=backend-refused,leg=backend}"]);
        Assert.Equal(10, samples["tunnel2_entry_visitor_received_bytes_total"]);
        Assert.Equal(20, samples["tunnel2_entry_visitor_sent_bytes_total"]);
        Assert.Equal(1, samples["tunnel2_entry_sessions_active"]);
        Assert.Equal(1, samples["tunnel2_entry_sessions_rejected_total{error_type=name-taken}"]);
        Assert.Equal(1, samples["tunnel2_entry_session_duration_seconds_count{error_type=superseded}"]);
    }

    [Fact]
    public void Every_outcome_and_any_status_can_be_recorded()
    {
        foreach (var outcome in Enum.GetValues<RequestOutcome>())
        {
            foreach (var status in new[] { -1, 0, 99, 100, 599, 600, int.MaxValue })
            {
                _metrics.RequestEnded(outcome, status, TimeSpan.Zero);
            }
        }

        var outcomes = PrometheusParser.Parse(_collector.Collect()).Samples.Keys
            .Where(key => key.StartsWith("tunnel2_entry_requests_total", StringComparison.Ordinal));
        Assert.Equal(Enum.GetValues<RequestOutcome>().Length * 3, outcomes.Count());
    }

    [Fact]
    public void A_request_is_recorded_without_allocation()
    {
        Run();

        var before = GC.GetAllocatedBytesForCurrentThread();
        Run();
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);

        void Run()
        {
            for (var i = 0; i < 1000; i++)
            {
                _metrics.StreamStarted();
                _metrics.BytesReceived(1);
                _metrics.BytesSent(1);
                _metrics.RequestEnded(RequestOutcome.Completed, 200, TimeSpan.FromMilliseconds(1));
                _metrics.RequestFailed(ProxyError.UnknownName);
                _metrics.StreamEnded();
            }
        }
    }

    public void Dispose()
    {
        _collector.Dispose();
        _factory.Dispose();
    }
}
