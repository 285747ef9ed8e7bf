using System.Collections.Concurrent;

namespace Tunnel2.LoadTests.Statistics;

/// <summary>Cuts a flow's course into seconds. Written by the generator; the points may be read from anywhere.</summary>
internal sealed class TimelineRecorder
{
    private const long Interval = 1_000_000_000;
    private const double NanosecondsPerMillisecond = 1e6;

    private readonly LatencyHistogram _latency = new();
    private readonly ConcurrentQueue<TimelinePoint> _points = new();
    private readonly long _start;
    private long _begin;
    private long _arrivals;
    private long _failed;

    /// <summary>Starts.</summary>
    /// <param name="start">The beginning, in nanoseconds.</param>
    public TimelineRecorder(long start) => _start = _begin = start;

    /// <summary>The seconds that are over.</summary>
    public IReadOnlyCollection<TimelinePoint> Points => _points;

    /// <summary>Counts an arrival.</summary>
    public void CountArrival() => _arrivals++;

    /// <summary>Counts a correct answer.</summary>
    public void CountOk(long latency) => _latency.Record(latency);

    /// <summary>Counts a failure.</summary>
    public void CountFailure() => _failed++;

    /// <summary>Closes the interval, if it is time.</summary>
    /// <param name="now">The time.</param>
    /// <param name="waiting">Arrivals that wait for a connection.</param>
    /// <param name="connections">Open connections.</param>
    /// <param name="isOver">Whether no arrival is to come: an interval without anything is then left out.</param>
    public void OnTick(long now, int waiting, int connections, bool isOver)
    {
        if (now - _begin >= Interval)
        {
            Close(now, waiting, connections, isOver);
        }
    }

    /// <summary>Closes the last interval.</summary>
    public void End(long now) => Close(now, 0, 0, isOver: true);

    private void Close(long now, int waiting, int connections, bool isOver)
    {
        if (!isOver || _arrivals + _failed + _latency.Count > 0)
        {
            _points.Enqueue(new TimelinePoint(
                (double)(now - _start) / Interval, (double)(now - _begin) / Interval, _arrivals, _latency.Count, _failed,
                _latency.Percentile(0.5) / NanosecondsPerMillisecond, _latency.Percentile(0.99) / NanosecondsPerMillisecond,
                _latency.Max / NanosecondsPerMillisecond, waiting, connections));
        }

        _begin = now;
        (_arrivals, _failed) = (0, 0);
        _latency.Clear();
    }
}
