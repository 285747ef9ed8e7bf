using System.Net;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Summing;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics.Summing;

public sealed class LogSumsTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly Lines _lines = new();
    private readonly ServiceProvider _services;
    private readonly ILogger _logger;

    public LogSumsTests()
    {
        var services = new ServiceCollection();
        services.AddSingleton<TimeProvider>(_time);
        services.AddLogging(logging => logging.SetMinimumLevel(LogLevel.Debug).AddProvider(_lines));
        services.AddLogSums();
        _services = services.BuildServiceProvider();
        _logger = _services.GetRequiredService<ILogger<LogSumsTests>>();
    }

    private LogSums Sums => _services.GetRequiredService<LogSums>();

    [Fact]
    public void The_first_few_of_a_kind_are_written_and_then_how_many_there_were()
    {
        for (var i = 0; i < 4211; i++)
        {
            ProxyEntryLog.RequestFailed(_logger, $"id:{i}", "web", "backend", "backend-refused", null);
        }

        ProxyEntryLog.RequestFailed(_logger, "other", "web", "backend", "backend-timeout", null);
        ProxyEntryLog.RequestFailed(_logger, "other", "api", "backend", "backend-refused", null);
        Assert.Equal(LogSums.ShownOfKind + 2, _lines.Texts.Count);
        Assert.Equal(4206, Sums.Suppressed);

        _time.Advance(LogSums.Window);
        Assert.Equal(
            "4211 lines like this one in 10 s, 5 of them shown: Request id:5 for web failed at the backend: backend-refused",
            _lines.Texts[^1]);
        Assert.Equal(LogSums.ShownOfKind + 3, _lines.Texts.Count);

        // The next window begins anew, and one without such lines says nothing.
        ProxyEntryLog.RequestFailed(_logger, "later", "web", "backend", "backend-refused", null);
        Assert.Equal("Request later for web failed at the backend: backend-refused", _lines.Texts[^1]);
        _time.Advance(3 * LogSums.Window);
        Assert.Equal(LogSums.ShownOfKind + 4, _lines.Texts.Count);
    }

    [Fact]
    public void Names_that_are_made_up_fill_neither_the_log_nor_the_memory()
    {
        for (var i = 0; i < 10_000; i++)
        {
            ProxyEntryLog.RequestFailed(_logger, $"id:{i}", $"name-{i}", "agent", "agent-offline", null);
        }

        Assert.Equal(LogSums.MaxNames + LogSums.ShownOfKind, _lines.Texts.Count);
        Assert.InRange(_lines.Texts.Count, 1, 30);
        _time.Advance(LogSums.Window);
        Assert.Equal(LogSums.MaxNames + LogSums.ShownOfKind + 1, _lines.Texts.Count);
        Assert.StartsWith($"{10_000 - LogSums.MaxNames} lines", _lines.Texts[^1], StringComparison.Ordinal);
        Assert.Contains("agent-offline", _lines.Texts[^1], StringComparison.Ordinal);

        // The next window has room for as many names again.
        ProxyEntryLog.RequestFailed(_logger, "later", "name-9999", "agent", "agent-offline", null);
        Assert.Equal("Request later for name-9999 failed at the agent: agent-offline", _lines.Texts[^1]);
    }

    [Fact]
    public void Names_that_are_made_up_hide_no_failure_of_another_kind()
    {
        for (var i = 0; i < 10_000; i++)
        {
            ProxyEntryLog.RequestFailed(_logger, $"id:{i}", $"name-{i}", "agent", "agent-offline", null);
        }

        ProxyEntryLog.RequestFailed(_logger, "other", "web", "backend", "backend-refused", null);
        Assert.Equal("Request other for web failed at the backend: backend-refused", _lines.Texts[^1]);
        for (var i = 0; i < 3 * LogSums.ShownOfKind; i++)
        {
            ProxyEntryLog.RequestFailed(_logger, "other", "api", "backend", "backend-refused", null);
        }

        _time.Advance(LogSums.Window);
        Assert.Equal(
            "15 lines like this one in 10 s, 5 of them shown: Request other for api failed at the backend: backend-refused",
            _lines.Texts[^1]);
    }

    [Fact]
    public void Codes_that_are_made_up_share_one_kind_in_the_end()
    {
        for (var i = 0; i < 10_000; i++)
        {
            ProxyEntryLog.RequestFailed(_logger, $"id:{i}", "web", "agent", $"code-{i}", null);
        }

        Assert.Equal(LogSums.MaxKinds + LogSums.ShownOfKind, _lines.Texts.Count);
        _time.Advance(LogSums.Window);
        Assert.StartsWith("9744 lines", _lines.Texts[^1], StringComparison.Ordinal);
    }

    [Fact]
    public void Floods_of_many_addresses_are_one_kind_for_each_reason()
    {
        for (var i = 1; i <= 200; i++)
        {
            ProxyEntryLog.Http2Flood(_logger, new IPAddress([192, 0, 2, (byte)i]), "reset");
        }

        ProxyEntryLog.Http2Flood(_logger, IPAddress.Loopback, "ping");
        Assert.Equal(LogSums.ShownOfKind + 1, _lines.Texts.Count);
        Assert.Equal(195, Sums.Suppressed);
    }

    [Fact]
    public void What_the_operator_does_and_what_debug_asks_for_is_written_as_often_as_it_happens()
    {
        for (var i = 0; i < 20; i++)
        {
            ProxyEntryLog.SettingNeedsRestart(_logger, "key");
            ProxyEntryLog.RequestRefused(_logger, "id", "web", "bad-request");
        }

        Assert.Equal(40, _lines.Texts.Count);
        Assert.Equal(0, Sums.Suppressed);
    }

    [Fact]
    public void The_end_of_the_process_loses_no_sum()
    {
        for (var i = 0; i < 6; i++)
        {
            ProxyEntryLog.AgentRejected(_logger, $"192.0.2.{i}:1", "Unauthorized", "no");
        }

        _time.Advance(TimeSpan.FromSeconds(2.5));
        _services.Dispose();
        Assert.StartsWith(
            "6 lines like this one in 2.5 s, 5 of them shown: Agent from 192.0.2.5:1 rejected", _lines.Texts[^1], StringComparison.Ordinal);
    }

    [Fact]
    public void The_target_of_the_lines_may_throw_and_costs_no_other_its_sum()
    {
        var faults = new ContainedFaults(_time);
        using var broken = new Lines { Fails = true };
        using var sums = new LogSums(_time, faults);
        for (var window = 1; window <= 2; window++)
        {
            foreach (var (name, lines) in new[] { ("a", broken), ("b", _lines) })
            {
                for (var i = 0; i <= LogSums.ShownOfKind; i++)
                {
                    sums.Count(new LineKind(1, "", name), lines, out _);
                }
            }

            _time.Advance(LogSums.Window);
            Assert.Equal((window, window), (faults.Count, _lines.Texts.Count));
        }
    }

    public void Dispose()
    {
        _services.Dispose();
        _lines.Dispose();
    }

    private sealed class Lines : ILoggerProvider, ILogger
    {
        public List<string> Texts { get; } = [];

        public bool Fails { get; init; }

        public ILogger CreateLogger(string categoryName) => this;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter) =>
            Texts.Add(Fails ? throw new InvalidTimeZoneException() : formatter(state, exception));

        public void Dispose()
        {
        }
    }
}
