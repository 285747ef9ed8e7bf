namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Runs a job over partitions, each of which owns its state: they share no lock and no map. Every run ends by draining: input closed,
/// partitions joined, results emitted, clock stopped. Stateless.
/// </summary>
internal static class PartitionedPipeline<T, THash, TState>
    where T : struct
    where THash : struct, IKeyHash<T>
    where TState : class, IPartitionState<T>
{
    /// <summary>Reads and processes on the calling thread: one partition, without a queue.</summary>
    internal static PipelineReport RunFused(IRecordSource<T> source, TState state)
    {
        long start = TimeProvider.System.GetTimestamp();
        long records = 0;
        while (source.TryRead(out ReadOnlySpan<T> batch))
        {
            state.Process(batch);
            state.AdvanceTo(source.Watermark);
            records += batch.Length;
        }

        state.Complete();
        TimeSpan elapsed = TimeProvider.System.GetElapsedTime(start);
        return new PipelineReport(records, elapsed, elapsed, []);
    }

    /// <summary>Reads on the calling thread and routes each record to the partition of its key (<see cref="PartitionRouter{T, THash,
    /// TState}"/>).</summary>
    /// <exception cref="AggregateException">The source or a state failed; all threads have been joined.</exception>
    internal static PipelineReport RunRouted(IRecordSource<T> source, IReadOnlyList<TState> states, PipelineOptions options)
    {
        long start = TimeProvider.System.GetTimestamp();
        using var router = new PartitionRouter<T, THash, TState>(states, options);
        try
        {
            while (true)
            {
                long watermark = source.Watermark;
                if (!source.TryRead(out ReadOnlySpan<T> batch))
                {
                    break;
                }

                router.Route(batch, watermark);
            }
        }
        catch (Exception exception)
        {
            throw new AggregateException([exception, .. router.Join()]);
        }

        TimeSpan routing = TimeProvider.System.GetElapsedTime(start) - router.Waited;
        router.Complete();
        return new PipelineReport(router.Records, TimeProvider.System.GetElapsedTime(start), routing, router.WorkersBusy);
    }
}
