namespace Tunnel2.Telemetry.Aggregation;

/// <summary>What one partition owns; only its own thread ever touches it.</summary>
internal interface IPartitionState<T>
    where T : struct
{
    /// <summary>Takes the records of a batch into the state.</summary>
    void Process(ReadOnlySpan<T> batch);

    /// <summary>Closes the windows that end at or before <paramref name="watermark"/>.</summary>
    void AdvanceTo(long watermark);

    /// <summary>The input has ended: emits what is still open.</summary>
    void Complete();
}
