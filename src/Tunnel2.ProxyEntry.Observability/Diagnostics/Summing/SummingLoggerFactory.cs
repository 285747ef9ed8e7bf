namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>Makes loggers that sum up the events of <see cref="SummedEvents"/>; all other lines pass. Thread-safe.</summary>
internal sealed class SummingLoggerFactory : ILoggerFactory
{
    private readonly LoggerFactory _inner;
    private readonly LogSums _sums;

    public SummingLoggerFactory(LoggerFactory inner, LogSums sums)
    {
        _inner = inner;
        _sums = sums;
    }

    /// <inheritdoc/>
    public ILogger CreateLogger(string categoryName) => new SummingLogger(_inner.CreateLogger(categoryName), categoryName, _sums);

    /// <inheritdoc/>
    public void AddProvider(ILoggerProvider provider) => _inner.AddProvider(provider);

    /// <summary>The inner factory belongs to its container.</summary>
    public void Dispose()
    {
    }

    private sealed class SummingLogger(ILogger inner, string category, LogSums sums) : ILogger
    {
        private readonly bool _isFramework = !category.StartsWith("Tunnel2.", StringComparison.Ordinal);

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => inner.BeginScope(state);

        public bool IsEnabled(LogLevel logLevel) => inner.IsEnabled(logLevel);

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (logLevel < LogLevel.Information || !SummedEvents.Contains(eventId.Id, _isFramework))
            {
                inner.Log(logLevel, eventId, state, exception, formatter);
                return;
            }

            if (!inner.IsEnabled(logLevel))
            {
                return;
            }

            var kind = LineKind.Of(eventId.Id, category, state);
            if (sums.Count(kind, inner, out var isFirstSuppressed))
            {
                inner.Log(logLevel, eventId, state, exception, formatter);
            }
            else if (isFirstSuppressed)
            {
                sums.Keep(kind, formatter(state, exception).ReplaceLineEndings(" "));
            }
        }
    }
}
