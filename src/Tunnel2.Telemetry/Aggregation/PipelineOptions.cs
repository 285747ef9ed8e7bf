namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Settings of a <see cref="PartitionedPipeline{T, THash, TState}"/>. Immutable.</summary>
internal sealed record PipelineOptions
{
    /// <summary>Records handed over at once. Default 1000.</summary>
    internal int BatchSize { get; init; } = 1000;

    /// <summary>
    /// Batches that may wait between the router and one worker; the router waits beyond that, until half of them are gone. Default 32:
    /// the router shares a core with a worker, and what it leaves in the queues must last the other worker until it runs again.
    /// </summary>
    internal int QueueCapacity { get; init; } = 32;

    /// <summary>
    /// Threads that serve the partitions; 0 (default): as many as there are partitions or cores, at most the smaller number.
    /// </summary>
    internal int Workers { get; init; }
}
