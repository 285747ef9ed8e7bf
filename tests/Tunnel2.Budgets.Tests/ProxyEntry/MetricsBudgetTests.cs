using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.TestUtilities;

namespace Tunnel2.Budgets.Tests.ProxyEntry;

/// <summary>Recording a metric allocates nothing.</summary>
public sealed class MetricsBudgetTests : IDisposable
{
    private readonly TestMeterFactory _factory = new();
    private readonly PrometheusCollector _collector;
    private readonly RequestMetrics _metrics;
    private readonly ManualTimeProvider _time = new();
    private readonly SampleExchange _exchange = new();
    private readonly ForwardedRequest _request = new();

    public MetricsBudgetTests()
    {
        _collector = new PrometheusCollector(_factory, TimeProvider.System);
        _metrics = new RequestMetrics(_factory);
    }

    public void Dispose()
    {
        _collector.Dispose();
        _factory.Dispose();
    }

    [Fact]
    public void A_request_is_recorded_without_allocation()
    {
        var observers = new RequestObservers([_metrics]);
        Run();

        var before = GC.GetAllocatedBytesForCurrentThread();
        Run();
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);

        void Run()
        {
            for (var i = 0; i < 1000; i++)
            {
                _request.Begin(_time);
                observers.Began(_exchange, _request);
                observers.StreamOpened(_exchange, _request);
                (_request.Status, _request.BytesReceived, _request.BytesSent, _request.Error) = (200, 1, 1, ProxyError.UnknownName);
                observers.Failed(_exchange, _request, isAnswered: true);
                observers.StreamEnded(_exchange, _request);
                _request.Times.MarkEnded();
                observers.Ended(_exchange, _request, RequestOutcome.Completed);
            }
        }
    }

    [Fact]
    public void Recording_allocates_nothing_for_tag_sets_seen_before()
    {
        var meter = _factory.Create("Tunnel2.Test");
        var counter = meter.CreateCounter<long>("test.hot");
        var histogram = meter.CreateHistogram<double>("test.hot.duration", "s");
        KeyValuePair<string, object?> first = new("outcome", "completed");
        KeyValuePair<string, object?> second = new("status", "2xx");
        Run();

        var before = GC.GetAllocatedBytesForCurrentThread();
        Run();
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);

        void Run()
        {
            for (var i = 0; i < 1000; i++)
            {
                counter.Add(1, first, second);
                histogram.Record(0.1, first, second);
                counter.Add(1);
            }
        }
    }
}
