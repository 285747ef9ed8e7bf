using System.Diagnostics.Metrics;
using System.Globalization;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;

public sealed class PrometheusCollectorTests : IDisposable
{
    private readonly TestMeterFactory _factory = new();
    private readonly PrometheusCollector _collector;
    private readonly Meter _meter;

    public PrometheusCollectorTests()
    {
        _collector = new PrometheusCollector(_factory, TimeProvider.System);
        _meter = _factory.Create("Tunnel2.Test");
    }

    [Fact]
    public void Counters_gauges_and_histograms_are_written_and_can_be_read_back()
    {
        var requests = _meter.CreateCounter<long>("test.requests", "{request}", "Requests,\nby \\ outcome");
        var active = _meter.CreateUpDownCounter<int>("test.active");
        var temperature = _meter.CreateGauge<double>("test.temperature", "Cel");
        var duration = _meter.CreateHistogram(
            "test.duration", "s", null, null, new InstrumentAdvice<double> { HistogramBucketBoundaries = [0.1, 1] });
        requests.Add(2, new KeyValuePair<string, object?>("error.type", "a\"b\\c\nd"));
        requests.Add(3);
        active.Add(5);
        active.Add(-2);
        temperature.Record(20);
        temperature.Record(-1.5);
        duration.Record(0.1);
        duration.Record(0.5);
        duration.Record(7);
        duration.Record(double.NaN);

        var result = Collect();

        Assert.Equal(3, result.Samples["test_requests_total"]);
        Assert.Equal(2, result.Samples["test_requests_total{error_type=a\"b\\c\nd}"]);
        Assert.Equal("Requests,\\nby \\\\ outcome", result.Help["test_requests_total"]);
        Assert.Equal("counter", result.Types["test_requests_total"]);
        Assert.Equal(3, result.Samples["test_active"]);
        Assert.Equal("gauge", result.Types["test_active"]);
        Assert.Equal(-1.5, result.Samples["test_temperature_celsius"]);
        Assert.Equal("histogram", result.Types["test_duration_seconds"]);
        Assert.Equal(1, result.Samples["test_duration_seconds_bucket{le=0.1}"]);
        Assert.Equal(2, result.Samples["test_duration_seconds_bucket{le=1}"]);
        Assert.Equal(3, result.Samples["test_duration_seconds_bucket{le=+Inf}"]);
        Assert.Equal(3, result.Samples["test_duration_seconds_count"]);
        Assert.Equal(7.6, result.Samples["test_duration_seconds_sum"], 9);
    }

    [Fact]
    public void The_order_of_tags_makes_no_second_series()
    {
        var counter = _meter.CreateCounter<double>("test.order");
        KeyValuePair<string, object?> a = new("a", 1);
        KeyValuePair<string, object?> b = new("b", true);

        counter.Add(1.5, a, b);
        counter.Add(2, b, a);

        Assert.Equal(3.5, Collect().Samples["test_order_total{a=1,b=true}"]);
    }

    [Fact]
    public void Observable_instruments_show_what_they_report_now_and_nothing_else()
    {
        var measurements = new List<Measurement<long>> { new(7, new KeyValuePair<string, object?>("session", "a")) };
        _meter.CreateObservableCounter("test.observed", () => measurements);
        Assert.Equal(7, Collect().Samples["test_observed_total{session=a}"]);

        measurements[0] = new Measurement<long>(9, new KeyValuePair<string, object?>("session", "b"));
        var second = Collect();

        Assert.Equal(9, second.Samples["test_observed_total{session=b}"]);
        Assert.DoesNotContain("test_observed_total{session=a}", second.Samples);
    }

    [Fact]
    public void An_instrument_that_throws_does_not_hide_the_others()
    {
        _meter.CreateObservableGauge<long>("test.broken", long () => throw new InvalidOperationException());
        _meter.CreateObservableGauge("test.fine", () => 4L);

        var result = Collect();

        Assert.Equal(4, result.Samples["test_fine"]);
        Assert.Equal(1, result.Samples["tunnel2_metrics_callback_errors_total"]);
    }

    [Fact]
    public void Tag_sets_beyond_the_cap_are_dropped_and_counted()
    {
        var counter = _meter.CreateCounter<long>("test.many");
        for (var i = 0; i < MetricFamily.MaxTagSets + 20; i++)
        {
            counter.Add(1, new KeyValuePair<string, object?>("id", i.ToString(CultureInfo.InvariantCulture)));
        }

        counter.Add(1, new KeyValuePair<string, object?>("id", "0"));

        var result = Collect();
        Assert.Equal(
            MetricFamily.MaxTagSets, result.Samples.Keys.Count(key => key.StartsWith("test_many_total", StringComparison.Ordinal)));
        Assert.Equal(2, result.Samples["test_many_total{id=0}"]);
        Assert.Equal(20, result.Samples["tunnel2_metrics_overflow_total{metric=test_many_total}"]);
    }

    [Fact]
    public void Two_instruments_of_one_name_are_added_up_if_they_are_of_one_kind()
    {
        _meter.CreateCounter<long>("test.shared").Add(1);
        _factory.Create("Tunnel2.Other").CreateCounter<long>("test.shared").Add(2);
        _factory.Create("Tunnel2.Third").CreateObservableCounter("test.shared", () => 100L);

        var result = Collect();

        Assert.Equal(3, result.Samples["test_shared_total"]);
        Assert.Equal(1, result.Samples["tunnel2_metrics_conflicts_total"]);
    }

    [Fact]
    public void Meters_of_others_are_left_out()
    {
        using var otherHost = new TestMeterFactory();
        otherHost.Create("Tunnel2.Test").CreateCounter<long>("test.foreign").Add(1);
        _factory.Create("Some.Library").CreateCounter<long>("test.foreign").Add(1);

        Assert.DoesNotContain("test_foreign_total", Collect().Samples);
    }

    [Fact]
    public void Process_and_runtime_basics_are_there()
    {
        var result = Collect();

        Assert.True(result.Samples["process_cpu_seconds_total"] > 0);
        Assert.True(result.Samples["process_resident_memory_bytes"] > 1_000_000);
        Assert.InRange(result.Samples["process_start_time_seconds"], 1.6e9, DateTimeOffset.UtcNow.ToUnixTimeSeconds() + 1);
        Assert.Contains(result.Samples.Keys, key => key.StartsWith("tunnel2_build_info{", StringComparison.Ordinal));
        Assert.Contains(result.Types.Keys, key => key.StartsWith("dotnet_gc_", StringComparison.Ordinal));
        Assert.Equal("gauge", result.Types["dotnet_thread_pool_thread_count"]);
        Assert.Equal("gauge", result.Types["dotnet_thread_pool_queue_length"]);
        Assert.Equal("counter", result.Types["dotnet_thread_pool_work_item_count_total"]);
    }

    [Fact]
    public async Task Nothing_is_lost_when_many_threads_record_while_others_collect()
    {
        var counter = _meter.CreateCounter<double>("test.concurrent");
        var histogram = _meter.CreateHistogram<long>("test.sizes", "By");
        using var start = new Barrier(5);
        var writers = Enumerable.Range(0, 4).Select(_ => Task.Factory.StartNew(
            () =>
            {
                start.SignalAndWait();
                for (var i = 0; i < 10_000; i++)
                {
                    counter.Add(0.5, new KeyValuePair<string, object?>("tag", (i % 100).ToString(CultureInfo.InvariantCulture)));
                    histogram.Record(i);
                }
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default)).ToArray();
        start.SignalAndWait();
        for (var i = 0; i < 20; i++)
        {
            Collect();
        }

        await Task.WhenAll(writers);

        var result = Collect();
        Assert.Equal(100, result.Samples.Keys.Count(key => key.StartsWith("test_concurrent_total", StringComparison.Ordinal)));
        Assert.Equal(200, result.Samples["test_concurrent_total{tag=42}"]);
        Assert.Equal(40_000, result.Samples["test_sizes_bytes_count"]);
        Assert.Equal(4 * 49_995_000.0, result.Samples["test_sizes_bytes_sum"]);
    }

    public void Dispose()
    {
        _collector.Dispose();
        _factory.Dispose();
    }

    private PrometheusParser Collect() => PrometheusParser.Parse(_collector.Collect());
}
