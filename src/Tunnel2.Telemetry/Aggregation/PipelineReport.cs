namespace Tunnel2.Telemetry.Aggregation;

/// <summary>How a run went, with each stage timed alone. The clock stops after every thread has been joined.</summary>
/// <param name="Records">Records processed by partitions (not: routed).</param>
/// <param name="Elapsed">From the first read to the last join.</param>
/// <param name="RouterBusy">Time the reading and routing thread spent on anything but waiting for room.</param>
/// <param name="WorkersBusy">Time each worker spent in its partitions.</param>
internal sealed record PipelineReport(long Records, TimeSpan Elapsed, TimeSpan RouterBusy, TimeSpan[] WorkersBusy);
