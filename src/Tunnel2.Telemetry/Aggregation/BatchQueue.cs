namespace Tunnel2.Telemetry.Aggregation;

/// <summary>A batch of records on its way to one partition. Reused.</summary>
internal sealed class RecordBatch<T>
    where T : struct
{
    internal RecordBatch(int capacity)
    {
        Records = new T[capacity];
    }

    internal T[] Records { get; }

    internal int Count { get; set; }

    internal int Partition { get; set; }

    /// <summary>Valid once the batch has been processed.</summary>
    internal long Watermark { get; set; }
}

/// <summary>
/// A bounded queue of batches from the router to one worker, which also returns the emptied ones. It takes a lock per batch, not per
/// record. A worker that dies closes the queue with its exception, so that the router never waits for it.
/// </summary>
internal sealed class BatchQueue<T>
    where T : struct
{
    private readonly object _lock = new();
    private readonly Queue<RecordBatch<T>> _full = new();
    private readonly Stack<RecordBatch<T>> _empty = new();
    private readonly int _capacity;
    private readonly int _batchSize;
    private bool _completed;
    private Exception? _fault;

    internal BatchQueue(int capacity, int batchSize)
    {
        _capacity = capacity;
        _batchSize = batchSize;
    }

    /// <summary>Gives a batch to the worker, waits for room if there is none, and returns an empty batch.</summary>
    /// <exception cref="InvalidOperationException">The worker has died; its exception is inside.</exception>
    internal RecordBatch<T> Exchange(RecordBatch<T> batch, ref long waitedTicks)
    {
        lock (_lock)
        {
            if (_full.Count == _capacity && _fault is null)
            {
                // The router is woken when half of the queue is free, not for each batch: a wake-up costs more than the routing in between.
                long start = TimeProvider.System.GetTimestamp();
                while (_full.Count > _capacity / 2 && _fault is null)
                {
                    Monitor.Wait(_lock);
                }

                waitedTicks += TimeProvider.System.GetTimestamp() - start;
            }

            if (_fault is not null)
            {
                throw new InvalidOperationException("A partition failed.", _fault);
            }

            _full.Enqueue(batch);
            if (_full.Count == 1)
            {
                Monitor.Pulse(_lock);
            }

            return _empty.TryPop(out RecordBatch<T>? empty) ? empty : new RecordBatch<T>(_batchSize);
        }
    }

    /// <summary>The next batch, after a wait if needed; null when the input has ended and all batches were taken.</summary>
    internal RecordBatch<T>? Take(RecordBatch<T>? emptied)
    {
        lock (_lock)
        {
            if (emptied is not null)
            {
                emptied.Count = 0;
                _empty.Push(emptied);
            }

            while (_full.Count == 0 && !_completed)
            {
                Monitor.Wait(_lock);
            }

            if (!_full.TryDequeue(out RecordBatch<T>? batch))
            {
                return null;
            }

            if (_full.Count == _capacity / 2)
            {
                Monitor.Pulse(_lock);
            }

            return batch;
        }
    }

    /// <summary>No more batches will come.</summary>
    internal void Complete()
    {
        lock (_lock)
        {
            _completed = true;
            Monitor.PulseAll(_lock);
        }
    }

    /// <summary>The worker has died.</summary>
    internal void Fail(Exception exception)
    {
        lock (_lock)
        {
            _fault = exception;
            Monitor.PulseAll(_lock);
        }
    }
}
