using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.Laboratory.Aggregation;

/// <summary>
/// SUM by group in one state that all threads share, in place of a state for each partition: what partitions are raced against. Each thread
/// gets the same object as its state. Thread-safe.
/// </summary>
internal abstract class SharedSums : IPartitionState<SumRecord>, IDisposable
{
    /// <summary>A group has two cache lines of its own, so that only threads at the same group disturb each other.</summary>
    private const int Stride = 128 / sizeof(long);

    private readonly long[] _sums;

    private SharedSums(int groups)
    {
        _sums = new long[(groups + 1) * Stride];
    }

    /// <summary>The three ways to share, by name.</summary>
    internal static IReadOnlyList<(string Name, Func<int, SharedSums> Create)> Ways { get; } =
    [
        ("one lock", static groups => new OneLock(groups)),
        ("reader-writer lock", static groups => new ReaderWriter(groups)),
        ("atomics", static groups => new Atomics(groups)),
    ];

    /// <summary>The sum of each group; valid once the threads have been joined.</summary>
    internal long[] Sums() => [.. Enumerable.Range(0, (_sums.Length / Stride) - 1).Select(group => SumOf(group))];

    public abstract void Process(ReadOnlySpan<SumRecord> batch);

    public void AdvanceTo(long watermark)
    {
        // No windows.
    }

    public void Complete()
    {
        // The sums are the result.
    }

    public abstract void Dispose();

    private ref long SumOf(int group) => ref _sums[(group + 1) * Stride];

    /// <summary>Each record takes the lock.</summary>
    private sealed class OneLock(int groups) : SharedSums(groups)
    {
        private readonly Lock _lock = new();

        public override void Process(ReadOnlySpan<SumRecord> batch)
        {
            foreach (ref readonly SumRecord record in batch)
            {
                lock (_lock)
                {
                    SumOf(record.Group) += record.Value;
                }
            }
        }

        public override void Dispose()
        {
            // Nothing to give back.
        }
    }

    /// <summary>Each record takes the lock to write, because it writes.</summary>
    private sealed class ReaderWriter(int groups) : SharedSums(groups)
    {
        private readonly ReaderWriterLockSlim _lock = new();

        public override void Process(ReadOnlySpan<SumRecord> batch)
        {
            foreach (ref readonly SumRecord record in batch)
            {
                _lock.EnterWriteLock();
                try
                {
                    SumOf(record.Group) += record.Value;
                }
                finally
                {
                    _lock.ExitWriteLock();
                }
            }
        }

        public override void Dispose() => _lock.Dispose();
    }

    /// <summary>Each record is one atomic addition.</summary>
    private sealed class Atomics(int groups) : SharedSums(groups)
    {
        public override void Process(ReadOnlySpan<SumRecord> batch)
        {
            foreach (ref readonly SumRecord record in batch)
            {
                Interlocked.Add(ref SumOf(record.Group), record.Value);
            }
        }

        public override void Dispose()
        {
            // Nothing to give back.
        }
    }
}
