using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.Laboratory.Aggregation;

/// <summary>
/// One thread for each split of a source in memory, the calling one among them, each with a state of its own; the caller merges the states.
/// The product splits files, whose parts have to be found first (<see cref="PartitionedRecording{TTotals}"/>). Stateless.
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
        var threads = new Thread[Math.Max(0, splits.Count - 1)];
        for (int i = 0; i < threads.Length; i++)
        {
            int split = i;
            threads[i] = new Thread(() => DrainSplit(split));
            threads[i].Start();
        }

        if (splits.Count > 0)
        {
            DrainSplit(splits.Count - 1);
        }

        Array.ForEach(threads, t => t.Join());
        if (failures.Any(f => f is not null))
        {
            throw new AggregateException(failures.OfType<Exception>());
        }

        return new PipelineReport(records.Sum(), TimeProvider.System.GetElapsedTime(start), TimeSpan.Zero, busy);

        void DrainSplit(int split)
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
