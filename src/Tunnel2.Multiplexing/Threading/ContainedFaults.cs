namespace Tunnel2.Multiplexing.Threading;

/// <summary>
/// Faults of our own that were thrown where no caller catches them: on a loop, in a timer, on a thread that serves all others. Each is
/// contained where it can do the least harm, counted here, and reported at most once a second. Thread-safe; never throws.
/// </summary>
internal sealed class ContainedFaults(TimeProvider? timeProvider = null)
{
    private static readonly TimeSpan _quiet = TimeSpan.FromSeconds(1);

    private readonly TimeProvider _time = timeProvider ?? TimeProvider.System;
    private readonly Lock _gate = new();
    private long _count;
    private long _reported;
    private long _reportedAt;
    private bool _hasReported;

    /// <summary>How many there were.</summary>
    public long Count => Volatile.Read(ref _count);

    /// <summary>Called with a report: where it happened, how many there were since the last report, and the latest.</summary>
    public Action<string, long, Exception>? Report { get; set; }

    /// <summary>Counts a fault.</summary>
    /// <param name="place">Where it was contained: one of a small set of words.</param>
    /// <param name="exception">The fault.</param>
    public void Add(string place, Exception exception)
    {
        var count = Interlocked.Increment(ref _count);
        if (Report is not { } report)
        {
            return;
        }

        lock (_gate)
        {
            var now = _time.GetTimestamp();
            if (_hasReported && _time.GetElapsedTime(_reportedAt, now) < _quiet)
            {
                return;
            }

            (_hasReported, _reportedAt) = (true, now);
            (count, _reported) = (Math.Max(1, count - _reported), Math.Max(count, _reported));
        }

        try
        {
            report(place, count, exception);
        }
        catch (Exception)
        {
            // The receiver of the report has a fault too: it has been counted.
        }
    }

    /// <summary>Runs something and contains what it throws.</summary>
    public void Run<TState>(string place, Action<TState> action, TState state)
    {
        try
        {
            action(state);
        }
        catch (Exception exception)
        {
            Add(place, exception);
        }
    }
}
