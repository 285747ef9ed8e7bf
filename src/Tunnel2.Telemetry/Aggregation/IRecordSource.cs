namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Hands out records in batches. Used by one thread at a time.</summary>
internal interface IRecordSource<T>
    where T : struct
{
    /// <summary>
    /// Event time (µs since 1970) up to which windows may be closed: no record that a later call returns belongs to a window that
    /// ends at or before it. Never falls. <see cref="long.MinValue"/> for sources without event time.
    /// </summary>
    long Watermark { get; }

    /// <summary>The next batch, valid until the next call; false at the end of the input. A batch may be empty: nothing new yet.</summary>
    bool TryRead(out ReadOnlySpan<T> batch);
}
