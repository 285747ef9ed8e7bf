using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A line that a running part logged.</summary>
internal sealed record LogLine(LogLevel Level, int EventId, string Category, string Text);

/// <summary>Keeps what is logged from Information on, and lets tests wait for it. Thread-safe.</summary>
internal sealed class LogLines : ILoggerProvider
{
    private readonly ConcurrentQueue<LogLine> _lines = new();

    public IEnumerable<LogLine> All => _lines;

    /// <summary>Counts each line once it is kept, and each one below Information that is written.</summary>
    public AsyncCounter Written { get; init; } = new("log lines");

    /// <summary>Waits until this many lines of an event were written.</summary>
    public Task WaitForAsync(int eventId, int count = 1) => Written.UntilAsync(
        () => _lines.Count(line => line.EventId == eventId) >= count, $"{count} lines of event {eventId} are written");

    /// <summary>Throws when anything was logged as an error: anything that a peer does, it is not a fault of ours.</summary>
    /// <param name="expected">Events that the test itself has caused.</param>
    public void AssertNoErrors(params int[] expected) =>
        Assert.DoesNotContain(_lines, line => line.Level >= LogLevel.Error && !expected.Contains(line.EventId));

    public ILogger CreateLogger(string categoryName) => new Writer(this, categoryName);

    public void Dispose()
    {
    }

    private sealed class Writer(LogLines lines, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Debug;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (logLevel >= LogLevel.Information)
            {
                lines._lines.Enqueue(new LogLine(logLevel, eventId.Id, category, $"{formatter(state, exception)} {exception}"));
            }

            lines.Written.Increment();
        }
    }
}
