using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Relay;

/// <summary>p50, p95 and p99 of durations in the last complete window, in seconds. Safe on any thread.</summary>
internal sealed class QuantileWindow
{
    private readonly Lock _lock = new();
    private readonly LogLinearHistogram _current = new();
    private readonly TimeProvider _time;
    private readonly TimeSpan _length;
    private long _opened;
    private (double P50, double P95, double P99, long Count) _last;

    internal QuantileWindow(TimeProvider time, TimeSpan length)
    {
        _time = time;
        _length = length;
        _opened = time.GetTimestamp();
    }

    /// <summary>Adds the time from <paramref name="start"/> to <paramref name="end"/>, timestamps of the same clock.</summary>
    internal void Add(long start, long end)
    {
        double nanoseconds = _time.GetElapsedTime(start, end).TotalNanoseconds;
        lock (_lock)
        {
            CloseWindowUnsynchronized(end);
            _current.Add((uint)Math.Clamp(nanoseconds, 0, uint.MaxValue));
        }
    }

    /// <summary>The last complete window; zeros when it is empty.</summary>
    internal (double P50, double P95, double P99, long Count) Read()
    {
        lock (_lock)
        {
            CloseWindowUnsynchronized(_time.GetTimestamp());
            return _last;
        }
    }

    private void CloseWindowUnsynchronized(long now)
    {
        TimeSpan age = _time.GetElapsedTime(_opened, now);
        if (age < _length)
        {
            return;
        }

        _last = age < _length * 2
            ? (_current.Quantile(0.5) / 1e9, _current.Quantile(0.95) / 1e9, _current.Quantile(0.99) / 1e9, _current.Count)
            : default;
        _current.Clear();
        _opened = now;
    }
}
