using System.Runtime.CompilerServices;

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
        long records = Drain(source, state);
        TimeSpan elapsed = TimeProvider.System.GetElapsedTime(start);
        return new PipelineReport(records, elapsed, elapsed, []);
    }

    /// <summary>
    /// Uses one thread for each split of the source, the calling thread included, each with its own state. The caller ensures that the
    /// splits are aligned with the key, or merges the states afterwards.
    /// </summary>
    /// <exception cref="AggregateException">A source or state failed.</exception>
    internal static PipelineReport RunSplit(IReadOnlyList<IRecordSource<T>> splits, IReadOnlyList<TState> states)
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
        ThrowIfAny(failures);
        return new PipelineReport(records.Sum(), TimeProvider.System.GetElapsedTime(start), TimeSpan.Zero, busy);

        void DrainSplit(int split)
        {
            long began = TimeProvider.System.GetTimestamp();
            try
            {
                records[split] = Drain(splits[split], states[split]);
            }
            catch (Exception e)
            {
                failures[split] = e;
            }

            busy[split] = TimeProvider.System.GetElapsedTime(began);
        }
    }

    /// <summary>
    /// Reads on the calling thread and routes each record by its key's hash to one of the partitions, which share the workers. Records of a
    /// group keep their order.
    /// </summary>
    /// <exception cref="AggregateException">The source or a state failed; all threads have been joined.</exception>
    internal static PipelineReport RunRouted(IRecordSource<T> source, IReadOnlyList<TState> states, PipelineOptions options)
    {
        long start = TimeProvider.System.GetTimestamp();
        int workers = options.Workers > 0 ? options.Workers : Math.Min(states.Count, Environment.ProcessorCount);
        var queues = new BatchQueue<T>[workers];
        var threads = new Thread[workers];
        long[] records = new long[workers];
        var busy = new TimeSpan[workers];
        var failures = new Exception?[workers + 1];
        for (int w = 0; w < workers; w++)
        {
            int worker = w;
            queues[w] = new BatchQueue<T>(options.QueueCapacity, options.BatchSize);
            threads[w] = new Thread(() =>
            {
                try
                {
                    (records[worker], busy[worker]) = Work(queues[worker], states, worker, workers);
                }
                catch (Exception e)
                {
                    failures[worker] = e;
                    queues[worker].Fail(e);
                }
            });
            threads[w].Start();
        }

        long waited = 0;
        try
        {
            Route(source, queues, states.Count, options.BatchSize, ref waited);
        }
        catch (Exception e)
        {
            failures[workers] = e;
        }

        TimeSpan routing = TimeProvider.System.GetElapsedTime(start) - TimeProvider.System.GetElapsedTime(0, waited);
        Array.ForEach(queues, q => q.Complete());
        Array.ForEach(threads, t => t.Join());
        ThrowIfAny(failures);
        return new PipelineReport(records.Sum(), TimeProvider.System.GetElapsedTime(start), routing, busy);
    }

    private static long Drain(IRecordSource<T> source, TState state)
    {
        long records = 0;
        while (source.TryRead(out ReadOnlySpan<T> batch))
        {
            state.Process(batch);
            state.AdvanceTo(source.Watermark);
            records += batch.Length;
        }

        state.Complete();
        return records;
    }

    private static void Route(IRecordSource<T> source, BatchQueue<T>[] queues, int partitions, int batchSize, ref long waited)
    {
        var filling = new RecordBatch<T>[partitions];
        for (int p = 0; p < partitions; p++)
        {
            filling[p] = new RecordBatch<T>(batchSize);
        }

        while (true)
        {
            // Records of the next batch are admitted under this watermark or a later one, so this watermark goes with them.
            long watermark = source.Watermark;
            if (!source.TryRead(out ReadOnlySpan<T> batch))
            {
                break;
            }

            while (!batch.IsEmpty)
            {
                int taken = RouteUntilFull(batch, filling, out int full);
                batch = batch[taken..];
                if (full >= 0)
                {
                    HandOver(queues, filling, full, watermark, ref waited);
                }
            }
        }

        for (int p = 0; p < partitions; p++)
        {
            if (filling[p].Count > 0)
            {
                HandOver(queues, filling, p, long.MinValue, ref waited);
            }
        }
    }

    /// <summary>The router's inner loop: stops when a partition's batch has filled up.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int RouteUntilFull(ReadOnlySpan<T> batch, RecordBatch<T>[] filling, out int full)
    {
        uint partitions = (uint)filling.Length;
        for (int i = 0; i < batch.Length; i++)
        {
            ref readonly T record = ref batch[i];
            // Multiply and shift maps the hash to 0..partitions−1 without a division.
            int p = (int)(((ulong)THash.Hash(record) * partitions) >> 32);
            RecordBatch<T> target = filling[p];
            T[] records = target.Records;
            int count = target.Count;
            records[count] = record;
            target.Count = ++count;
            if (count == records.Length)
            {
                full = p;
                return i + 1;
            }
        }

        full = -1;
        return batch.Length;
    }

    private static void HandOver(BatchQueue<T>[] queues, RecordBatch<T>[] filling, int partition, long watermark, ref long waited)
    {
        RecordBatch<T> batch = filling[partition];
        batch.Partition = partition;
        batch.Watermark = watermark;
        filling[partition] = queues[partition % queues.Length].Exchange(batch, ref waited);
    }

    private static (long Records, TimeSpan Busy) Work(BatchQueue<T> queue, IReadOnlyList<TState> states, int worker, int workers)
    {
        long records = 0;
        long busy = 0;
        RecordBatch<T>? batch = null;
        while ((batch = queue.Take(batch)) is not null)
        {
            long start = TimeProvider.System.GetTimestamp();
            TState state = states[batch.Partition];
            state.Process(batch.Records.AsSpan(0, batch.Count));
            state.AdvanceTo(batch.Watermark);
            records += batch.Count;
            busy += TimeProvider.System.GetTimestamp() - start;
        }

        long completing = TimeProvider.System.GetTimestamp();
        for (int p = worker; p < states.Count; p += workers)
        {
            states[p].Complete();
        }

        busy += TimeProvider.System.GetTimestamp() - completing;
        return (records, TimeProvider.System.GetElapsedTime(0, busy));
    }

    private static void ThrowIfAny(Exception?[] failures)
    {
        if (failures.Any(f => f is not null))
        {
            throw new AggregateException(failures.OfType<Exception>());
        }
    }
}
