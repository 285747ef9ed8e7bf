using Microsoft.Extensions.Logging;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>Keeps the lines of one logger. Thread-safe.</summary>
/// <typeparam name="T">Whose logger it is.</typeparam>
internal sealed class RecordedLog<T> : ILogger<T>
{
    private readonly Lock _gate = new();
    private readonly List<(int Id, string Line)> _lines = [];

    /// <summary>The lines, in order.</summary>
    public IReadOnlyList<(int Id, string Line)> Lines
    {
        get
        {
            lock (_gate)
            {
                return [.. _lines];
            }
        }
    }

    /// <summary>The lines of an event.</summary>
    public IReadOnlyList<string> Of(int id) => [.. Lines.Where(line => line.Id == id).Select(line => line.Line)];

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        lock (_gate)
        {
            _lines.Add((eventId.Id, formatter(state, exception)));
        }
    }
}
