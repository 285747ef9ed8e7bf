using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.Laboratory.Aggregation;

/// <summary>
/// Splits of a source in memory, each with a state of its own. As many threads as processors share them, the calling one among them: more
/// would only wait for each other. The caller merges the states. The product splits files, whose parts have to be found first
/// (<see cref="PartitionedRecording{TTotals}"/>). Stateless.
/// </summary>
internal static class SplitPipeline<T, THash, TState>
    where T : struct
    where THash : struct, IKeyHash<T>
    where TState : class, IPartitionState<T>
{
    /// <summary>Runs until the last split has ended.</summary>
    /// <exception cref="AggregateException">A source or state failed; all threads have been joined.</exception>
    internal static PipelineReport Run(IReadOnlyList<IRecordSource<T>> splits, IReadOnlyList<TState> states)
    {
        long start = TimeProvider.System.GetTimestamp();
        long[] records = new long[splits.Count];
        var busy = new TimeSpan[splits.Count];
        var failures = new Exception?[splits.Count];
        int next = -1;
        var threads = new Thread[Math.Max(0, Math.Min(splits.Count, Environment.ProcessorCount) - 1)];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(DrainSplits);
            threads[i].Start();
        }

        DrainSplits();
        Array.ForEach(threads, t => t.Join());
        if (failures.Any(f => f is not null))
        {
            throw new AggregateException(failures.OfType<Exception>());
        }

        return new PipelineReport(records.Sum(), TimeProvider.System.GetElapsedTime(start), TimeSpan.Zero, busy);

        void DrainSplits()
        {
            for (int split = Interlocked.Increment(ref next); split < splits.Count; split = Interlocked.Increment(ref next))
            {
                try
                {
                    PipelineReport report = PartitionedPipeline<T, THash, TState>.RunFused(splits[split], states[split]);
                    (records[split], busy[split]) = (report.Records, report.Elapsed);
                }
                catch (Exception e)
                {
                    failures[split] = e;
                }
            }
        }
    }
}
