namespace Tunnel2.Telemetry.Aggregation;

/// <summary>The times of a run, separately for each stage. The clock stops after every thread was joined.</summary>
/// <param name="Records">Records that partitions processed (not: routed).</param>
/// <param name="Elapsed">From the first read to the last join.</param>
/// <param name="RouterBusy">Time of the reading and routing thread, without its waits for room.</param>
/// <param name="WorkersBusy">Time each worker spent in its partitions.</param>
internal sealed record PipelineReport(long Records, TimeSpan Elapsed, TimeSpan RouterBusy, TimeSpan[] WorkersBusy);
