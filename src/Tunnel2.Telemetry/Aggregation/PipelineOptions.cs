namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Settings of a <see cref="PartitionedPipeline{T, THash, TState}"/>. Immutable.</summary>
internal sealed record PipelineOptions
{
    /// <summary>Number of records in a batch. Default 1000.</summary>
    internal int BatchSize { get; init; } = 1000;

    /// <summary>
    /// How many batches may wait between the router and one worker. If there are more, the router waits until half of them are gone.
    /// Default 32: the router shares a core with a worker, so the queued batches must last for the other worker until the router runs
    /// again.
    /// </summary>
    internal int QueueCapacity { get; init; } = 32;

    /// <summary>Threads that serve the partitions; 0 (default): the number of partitions or of cores, the smaller one.</summary>
    internal int Workers { get; init; }
}
