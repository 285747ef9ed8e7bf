using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.AccessLog;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.AccessLog;

public sealed class RequestAccessLogTests : IDisposable
{
    private static readonly AccessLogSettings _full = Settings("full");

    private readonly TestMeterFactory _factory = new();
    private readonly PrometheusCollector _collector;
    private readonly ProxyEntryMetrics _metrics;
    private readonly SampleSink _sink = new();
    private readonly SampleExchange _exchange = new();
    private readonly ForwardedRequest _request = new();
    private readonly ManualTimeProvider _time = new();
    private readonly WarningCounter _logger = new();

    public RequestAccessLogTests()
    {
        _collector = new PrometheusCollector(_factory, TimeProvider.System);
        _metrics = new ProxyEntryMetrics(_factory);
        _request.Begin(_time);
        _request.Status = 200;
    }

    [Fact]
    public async Task The_query_is_left_out_unless_it_is_asked_for()
    {
        using (var log = Create(_full))
        {
            End(log);
            await _sink.Written.UntilAsync(() => _sink.Lines == 1, "the line is written");
        }

        Assert.Contains(" GET /path 200 completed ", _sink.Text, StringComparison.Ordinal);
        using (var log = Create(Settings("full", "AccessLog:Query=true")))
        {
            End(log);
            await _sink.Written.UntilAsync(() => _sink.Lines == 2, "the line is written");
        }

        Assert.Contains(" GET /path?token=secret 200 ", _sink.Text, StringComparison.Ordinal);
    }

    [Fact]
    public void What_waits_is_written_at_the_end()
    {
        using (var log = Create(_full))
        {
            for (var i = 0; i < 10; i++)
            {
                End(log);
            }
        }

        Assert.Equal(10, _sink.Lines);
    }

    [Fact]
    public async Task A_slow_output_costs_lines_and_neither_time_nor_memory()
    {
        using var log = Create(_full);
        _sink.MayWrite.Reset();
        End(log);
        await _sink.Calls.WaitForAsync(1);
        for (var i = 0; i < 100; i++)
        {
            End(log);
        }

        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 1000; i++)
        {
            End(log);
        }

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
        _sink.MayWrite.Set();
        await _sink.Written.UntilAsync(() => _sink.Text.Contains("lines dropped", StringComparison.Ordinal), "the loss is reported");

        // The one that the writer held, and as many as the ring takes.
        Assert.Equal(1 + 16 + 1, _sink.Lines);
        Assert.Contains($" {1 + 1100 - 17} lines dropped", _sink.Text, StringComparison.Ordinal);
        Assert.Equal(1101 - 17, Samples["tunnel2_entry_access_log_dropped_total{error_type=full}"]);
    }

    [Theory]
    [InlineData(typeof(IOException))]
    [InlineData(typeof(UnauthorizedAccessException))]
    [InlineData(typeof(InvalidTimeZoneException))]
    public async Task An_output_that_fails_is_reported_once_and_tried_again_later(Type failure)
    {
        var lost = new AsyncCounter("lines that were lost");
        using var listener = ListenForLoss(lost);
        using var log = Create(_full);
        _sink.Failure = (Exception)Activator.CreateInstance(failure)!;
        _sink.Fails = true;
        for (var i = 1; i <= 3; i++)
        {
            End(log);
            await lost.WaitForAsync(i);
        }

        Assert.Equal(3, Samples["tunnel2_entry_access_log_dropped_total{error_type=unwritable}"]);
        Assert.Equal(1, _sink.Calls.Value);
        Assert.Equal(1, _logger.Warnings);
        _sink.Fails = false;
        _time.Advance(TimeSpan.FromSeconds(6));
        End(log);

        await _sink.Written.UntilAsync(() => _sink.Lines == 1, "the line is written");
        Assert.Equal(1, _logger.Warnings);
    }

    [Fact]
    public void A_sampled_log_has_about_its_share_and_every_failure()
    {
        using (var log = Create(Settings("sampled", "AccessLog:SampleRate=0.1"), capacity: 8192))
        {
            for (var i = 0; i < 4000; i++)
            {
                End(log);
            }

            _request.Error = ProxyError.BackendRefused;
            for (var i = 0; i < 50; i++)
            {
                log.OnEnded(_exchange, _request, RequestOutcome.Error);
            }
        }

        var failures = _sink.Text.Split('\n').Count(static line => line.Contains(" backend-refused ", StringComparison.Ordinal));
        Assert.Equal(50, failures);
        Assert.InRange(_sink.Lines - failures, 250, 550);
    }

    [Fact]
    public void A_log_that_is_off_has_no_thread_and_no_ring()
    {
        using var log = new RequestAccessLog(
            SettingsFixture.LoadValid().AccessLog,
            _ => throw new InvalidOperationException("no sink is wanted"),
            16,
            _metrics,
            _time,
            NullLogger.Instance);

        Assert.Equal(RequestMoments.None, log.Moments);
    }

    [Fact]
    public async Task A_request_leaves_no_garbage_while_its_line_is_written()
    {
        using var log = Create(_full, capacity: 4096);
        for (var i = 0; i < 100; i++)
        {
            End(log);
        }

        await _sink.Written.UntilAsync(() => _sink.Lines == 100, "the lines are written");
        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 1000; i++)
        {
            End(log);
        }

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    public void Dispose()
    {
        _sink.Dispose();
        _collector.Dispose();
        _factory.Dispose();
    }

    private Dictionary<string, double> Samples => PrometheusParser.Parse(_collector.Collect()).Samples;

    private static AccessLogSettings Settings(string mode, params string[] others) =>
        SettingsFixture.LoadValid(["AccessLog:Format=text", $"AccessLog:Mode={mode}", .. others]).AccessLog;

    private RequestAccessLog Create(AccessLogSettings settings, int capacity = 16) =>
        new(settings, _ => _sink, capacity, _metrics, _time, _logger);

    private MeterListener ListenForLoss(AsyncCounter lost)
    {
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument.Meter.Scope == _factory && instrument.Name == "tunnel2.entry.access_log.dropped")
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((_, lines, _, _) => lost.Add(lines));
        listener.Start();
        return listener;
    }

    private void End(RequestAccessLog log) => log.OnEnded(_exchange, _request, RequestOutcome.Completed);

    private sealed class WarningCounter : ILogger
    {
        private int _warnings;

        public int Warnings => Volatile.Read(ref _warnings);

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (logLevel == LogLevel.Warning)
            {
                Interlocked.Increment(ref _warnings);
            }
        }
    }
}
