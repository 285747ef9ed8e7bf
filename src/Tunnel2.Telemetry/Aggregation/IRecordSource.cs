namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Returns records in batches. Used by one thread at a time.</summary>
internal interface IRecordSource<T>
    where T : struct
{
    /// <summary>
    /// Event time (µs since 1970) up to which windows may be closed: later calls return no record of a window that ends at or before it. It
    /// never decreases. <see cref="long.MinValue"/> for sources without event time.
    /// </summary>
    long Watermark { get; }

    /// <summary>
    /// The next batch, valid until the next call; false at the end of the input. An empty batch means that nothing new has arrived.
    /// </summary>
    bool TryRead(out ReadOnlySpan<T> batch);
}
