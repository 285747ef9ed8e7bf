namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Event-time order of one source. The watermark follows the latest event at a fixed distance. A record is late if the watermark has passed
/// its one-second window. This is decided in source order and before any routing, so results do not depend on the number of partitions. Not
/// thread-safe.
/// </summary>
internal sealed class WatermarkFilter
{
    internal const long Second = 1_000_000;

    private readonly long _lateness;
    private long _latest = long.MinValue;
    private long _firstOpen = long.MinValue;

    /// <param name="lateness">
    /// How much older than the latest event a record may be; default 2 s, at most 60 s. <see cref="Timeout.InfiniteTimeSpan"/> is for
    /// results without windows: no record is late, and there is no watermark.
    /// </param>
    internal WatermarkFilter(TimeSpan? lateness = null)
    {
        TimeSpan value = lateness ?? TimeSpan.FromSeconds(2);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(value, TimeSpan.FromSeconds(60), nameof(lateness));
        _lateness = value.Ticks / TimeSpan.TicksPerMicrosecond;
    }

    /// <summary>Records that arrived too late for their window.</summary>
    internal long Late { get; private set; }

    /// <summary>See <see cref="IRecordSource{T}.Watermark"/>.</summary>
    internal long Watermark => _latest == long.MinValue || _lateness < 0 ? long.MinValue : _latest - _lateness;

    /// <summary>Event time before which every record is late; <see cref="long.MinValue"/> before the first event.</summary>
    internal long FirstOpen => _firstOpen;

    /// <summary>False for a late record, which is counted.</summary>
    internal bool Admit(long eventTime)
    {
        if (eventTime > _latest)
        {
            AdvanceTo(eventTime);
            return true;
        }

        if (eventTime >= _firstOpen)
        {
            return true;
        }

        Late++;
        return false;
    }

    /// <summary>Advances event time without a record: for an idle live source, to the current time.</summary>
    internal void AdvanceTo(long eventTime)
    {
        if (eventTime <= _latest)
        {
            return;
        }

        _latest = eventTime;
        if (_lateness < 0)
        {
            return;
        }

        // The start of the window that contains the watermark: all windows before it have passed.
        long watermark = eventTime - _lateness;
        if (_firstOpen == long.MinValue || watermark >= _firstOpen + Second)
        {
            _firstOpen = watermark - (watermark % Second);
        }
    }
}
