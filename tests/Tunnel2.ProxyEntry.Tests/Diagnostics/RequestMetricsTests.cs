using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics;

public sealed class RequestMetricsTests : IDisposable
{
    private readonly TestMeterFactory _factory = new();
    private readonly PrometheusCollector _collector;
    private readonly RequestMetrics _metrics;
    private readonly ManualTimeProvider _time = new();
    private readonly SampleExchange _exchange = new();
    private readonly ForwardedRequest _request = new();

    public RequestMetricsTests()
    {
        _collector = new PrometheusCollector(_factory, TimeProvider.System);
        _metrics = new RequestMetrics(_factory);
    }

    [Theory]
    [InlineData("AddressNotAllowed", 1)]
    [InlineData("LoginRequired", 1)]
    [InlineData("TooManyLogins", 1)]
    [InlineData("RateLimit", 0)]
    [InlineData("UnknownName", 0)]
    [InlineData("BackendRefused", 0)]
    public void What_access_rules_refuse_is_counted_for_their_session(string error, long count)
    {
        Begin();
        _request.Session = Sample.Session("web");
        _request.Error = Enum.Parse<ProxyError>(error);
        _metrics.OnFailed(_exchange, _request, isAnswered: true);
        Assert.Equal(count, _request.Session.TurnedAway);
    }

    [Fact]
    public void Everything_that_happens_to_requests_is_counted()
    {
        Open(LoopPath.Same);
        Open(LoopPath.Moved);
        Open(LoopPath.Crossed);
        _metrics.OnStreamEnded(_exchange, _request);
        _metrics.OnMoved(_exchange, _request, new StreamFailure(StreamFailureKind.PeerReset, StreamResetReason.Refused));
        _metrics.OnMoved(_exchange, _request, new StreamFailure(StreamFailureKind.UplinkLost, StreamResetReason.None));
        Begin();
        (_request.Status, _request.BytesReceived, _request.BytesSent) = (204, 10, 20);
        End(RequestOutcome.Completed, TimeSpan.FromMilliseconds(3));
        Begin();
        End(RequestOutcome.VisitorAborted, TimeSpan.FromSeconds(1));
        _request.Error = ProxyError.BackendRefused;
        _metrics.OnFailed(_exchange, _request, isAnswered: true);

        var samples = PrometheusParser.Parse(_collector.Collect()).Samples;

        Assert.Equal(2, samples["tunnel2_entry_streams_active"]);
        Assert.Equal(1, samples["tunnel2_entry_loop_connections_moved_total"]);
        Assert.Equal(1, samples["tunnel2_entry_loop_streams_crossed_total"]);
        Assert.Equal(1, samples["tunnel2_entry_requests_moved_total{error_type=refused}"]);
        Assert.Equal(1, samples["tunnel2_entry_requests_moved_total{error_type=uplink_lost}"]);
        Assert.Equal(1, samples["tunnel2_entry_requests_total{http_response_status_class=2xx,outcome=completed}"]);
        Assert.Equal(1, samples["tunnel2_entry_requests_total{http_response_status_class=none,outcome=visitor_aborted}"]);
        Assert.Equal(0.003, samples["tunnel2_entry_request_duration_seconds_sum{http_response_status_class=2xx,outcome=completed}"]);
        Assert.Equal(1, samples["tunnel2_entry_errors_total{error_type=backend-refused,leg=backend}"]);
        Assert.Equal(10, samples["tunnel2_entry_visitor_received_bytes_total"]);
        Assert.Equal(20, samples["tunnel2_entry_visitor_sent_bytes_total"]);
    }

    /// <summary>Some services answer so; the live view counts them as errors of the service, and so do the alerts.</summary>
    [Theory]
    [InlineData(600)]
    [InlineData(999)]
    public void A_status_without_a_class_is_an_error_of_the_service(int status)
    {
        Begin();
        _request.Status = status;
        End(RequestOutcome.Completed, TimeSpan.Zero);
        var samples = PrometheusParser.Parse(_collector.Collect()).Samples;
        Assert.Equal(1, samples["tunnel2_entry_requests_total{http_response_status_class=5xx,outcome=completed}"]);
    }

    [Fact]
    public void Every_outcome_and_any_status_can_be_recorded()
    {
        foreach (var outcome in Enum.GetValues<RequestOutcome>())
        {
            foreach (var status in new[] { -1, 0, 99, 100, 599, 600, int.MaxValue })
            {
                Begin();
                _request.Status = status;
                End(outcome, TimeSpan.Zero);
            }
        }

        var outcomes = PrometheusParser.Parse(_collector.Collect()).Samples.Keys
            .Where(key => key.StartsWith("tunnel2_entry_requests_total", StringComparison.Ordinal));
        Assert.Equal(Enum.GetValues<RequestOutcome>().Length * 3, outcomes.Count());
    }

    public void Dispose()
    {
        _collector.Dispose();
        _factory.Dispose();
    }

    private void Begin() => _request.Begin(_time);

    private void Open(LoopPath path)
    {
        Begin();
        _request.LoopPath = path;
        _metrics.OnStreamOpened(_exchange, _request);
    }

    private void End(RequestOutcome outcome, TimeSpan duration)
    {
        _time.Advance(duration);
        _request.Times.MarkEnded();
        _metrics.OnEnded(_exchange, _request, outcome);
    }
}
