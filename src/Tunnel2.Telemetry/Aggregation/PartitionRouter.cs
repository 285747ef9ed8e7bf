using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Routes each record by its key's hash to one of the partitions, which share the workers: threads that live until
/// <see cref="Complete"/>. Records of a group keep their order. All members are for one thread, the router's.
/// </summary>
internal sealed class PartitionRouter<T, THash, TState> : IDisposable
    where T : struct
    where THash : struct, IKeyHash<T>
    where TState : class, IPartitionState<T>
{
    private readonly IReadOnlyList<TState> _states;
    private readonly BatchQueue<T>[] _queues;
    private readonly Thread[] _threads;
    private readonly long[] _records;
    private readonly TimeSpan[] _busy;
    private readonly Exception?[] _failures;
    private readonly RecordBatch<T>[] _filling;
    private long _waited;

    /// <summary>Starts the workers.</summary>
    /// <param name="states">A state for each partition. Only the partition's worker touches it until all have been joined.</param>
    /// <param name="options">Settings.</param>
    internal PartitionRouter(IReadOnlyList<TState> states, PipelineOptions options)
    {
        int workers = options.Workers > 0 ? options.Workers : Math.Min(states.Count, Environment.ProcessorCount);
        _states = states;
        _queues = new BatchQueue<T>[workers];
        _threads = new Thread[workers];
        _records = new long[workers];
        _busy = new TimeSpan[workers];
        _failures = new Exception?[workers];
        _filling = new RecordBatch<T>[states.Count];
        for (int p = 0; p < _filling.Length; p++)
        {
            _filling[p] = new RecordBatch<T>(options.BatchSize);
        }

        for (int w = 0; w < workers; w++)
        {
            int worker = w;
            _queues[w] = new BatchQueue<T>(options.QueueCapacity, options.BatchSize);
            _threads[w] = new Thread(() => Work(worker)) { IsBackground = true, Name = $"partition {w}" };
            _threads[w].Start();
        }
    }

    /// <summary>Records that the workers have processed; valid once they have been joined.</summary>
    internal long Records => _records.Sum();

    /// <summary>How long each worker was busy; valid once they have been joined.</summary>
    internal TimeSpan[] WorkersBusy => _busy;

    /// <summary>How long the router waited for room in a queue.</summary>
    internal TimeSpan Waited => TimeProvider.System.GetElapsedTime(0, _waited);

    /// <summary>Sends records to their partitions; waits while a worker's queue is full.</summary>
    /// <param name="batch">The records.</param>
    /// <param name="watermark">
    /// The source's watermark before they were read: they were let in under it or a later one, so it is the one to hand on with them.
    /// </param>
    /// <exception cref="InvalidOperationException">A worker has died; its exception is inside.</exception>
    internal void Route(ReadOnlySpan<T> batch, long watermark)
    {
        while (!batch.IsEmpty)
        {
            int taken = RouteUntilFull(batch, _filling, out int full);
            batch = batch[taken..];
            if (full >= 0)
            {
                HandOver(full, watermark);
            }
        }
    }

    /// <summary>Hands over what every partition has so far, also nothing, with the source's watermark of now.</summary>
    /// <exception cref="InvalidOperationException">A worker has died; its exception is inside.</exception>
    internal void HandOver(long watermark)
    {
        for (int p = 0; p < _filling.Length; p++)
        {
            HandOver(p, watermark);
        }
    }

    /// <summary>The input has ended: hands over the rest, and joins the workers when they have processed everything.</summary>
    /// <exception cref="AggregateException">A state failed; all threads have been joined.</exception>
    internal void Complete()
    {
        try
        {
            for (int p = 0; p < _filling.Length; p++)
            {
                if (_filling[p].Count > 0)
                {
                    HandOver(p, long.MinValue);
                }
            }
        }
        catch (InvalidOperationException)
        {
            // A worker has died, which is among the failures.
        }

        if (Join() is { Count: > 0 } failures)
        {
            throw new AggregateException(failures);
        }
    }

    /// <summary>Ends the workers, once they have processed what was handed over, and returns why some of them died.</summary>
    internal IReadOnlyList<Exception> Join()
    {
        Array.ForEach(_queues, static queue => queue.Complete());
        Array.ForEach(_threads, static thread => thread.Join());
        return [.. _failures.OfType<Exception>()];
    }

    /// <inheritdoc/>
    public void Dispose() => Join();

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

    private void HandOver(int partition, long watermark)
    {
        RecordBatch<T> batch = _filling[partition];
        batch.Partition = partition;
        batch.Watermark = watermark;
        _filling[partition] = _queues[partition % _queues.Length].Exchange(batch, ref _waited);
    }

    private void Work(int worker)
    {
        try
        {
            (_records[worker], _busy[worker]) = Drain(worker);
        }
        catch (Exception exception)
        {
            _failures[worker] = exception;
            _queues[worker].Fail(exception);
        }
    }

    private (long Records, TimeSpan Busy) Drain(int worker)
    {
        long records = 0;
        long busy = 0;
        RecordBatch<T>? batch = null;
        while ((batch = _queues[worker].Take(batch)) is not null)
        {
            long start = TimeProvider.System.GetTimestamp();
            TState state = _states[batch.Partition];
            state.Process(batch.Records.AsSpan(0, batch.Count));
            state.AdvanceTo(batch.Watermark);
            records += batch.Count;
            busy += TimeProvider.System.GetTimestamp() - start;
        }

        long completing = TimeProvider.System.GetTimestamp();
        for (int p = worker; p < _states.Count; p += _queues.Length)
        {
            _states[p].Complete();
        }

        busy += TimeProvider.System.GetTimestamp() - completing;
        return (records, TimeProvider.System.GetElapsedTime(0, busy));
    }
}
