namespace Tunnel2.Telemetry.Aggregation;

/// <summary>The state of one partition; only the partition's own thread uses it.</summary>
internal interface IPartitionState<T>
    where T : struct
{
    /// <summary>Adds the records of a batch to the state.</summary>
    void Process(ReadOnlySpan<T> batch);

    /// <summary>Closes the windows that end at or before <paramref name="watermark"/>.</summary>
    void AdvanceTo(long watermark);

    /// <summary>The input has ended: emits the windows that are still open.</summary>
    void Complete();
}
