using System.Globalization;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The store alone: keys prepared, threads awake and parked on a barrier, a million operations.</summary>
/// <remarks>
/// Waking a thread takes longer than its share of the work. So the barrier wakes all of them before the clock starts; from there they yield
/// to each other on a flag, and setting it is all that <see cref="Run"/> does to start them.
/// </remarks>
internal sealed class AloneRun : IDisposable
{
    public const int Operations = 1_000_000;
    private static readonly string[] _keys =
        [.. Enumerable.Range(0, Operations).Select(i => "key" + i.ToString(CultureInfo.InvariantCulture))];

    private readonly StoreWorkload _workload;
    private readonly int _perThread;
    private readonly Barrier _start;
    private readonly Barrier _end;
    private readonly Thread[] _threads;
    private IMessageStore<int>? _store;
    private int _awake;
    private int _go;

    public AloneRun(StoreWorkload workload, int threads)
    {
        _workload = workload;
        _perThread = Operations / threads;
        _start = new Barrier(threads + 1);
        _end = new Barrier(threads + 1);
        _threads = new Thread[threads];
        for (int i = 0; i < threads; i++)
        {
            int thread = i;
            _threads[i] = new Thread(() => Work(thread)) { IsBackground = true };
            _threads[i].Start();
        }
    }

    /// <summary>Makes the store of the next run, before the clock starts.</summary>
    public void Prepare(string strategy)
    {
        (_store as IDisposable)?.Dispose();
        _store = StoreStrategy.Create<int>(strategy, _workload == StoreWorkload.DifferentKeys ? Operations : 32);
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Volatile.Write(ref _go, 0);
        Volatile.Write(ref _awake, 0);
        _start.SignalAndWait();
        while (Volatile.Read(ref _awake) != _threads.Length)
        {
            Thread.Yield();
        }
    }

    /// <summary>Lets the parked threads go and waits until the last one is done.</summary>
    public void Run()
    {
        Volatile.Write(ref _go, 1);
        _end.SignalAndWait();
    }

    /// <summary>Throws when a key is missing.</summary>
    public void Verify()
    {
        int keys = _workload switch
        {
            StoreWorkload.SameKeys => 10,
            StoreWorkload.DifferentKeys => _perThread * _threads.Length,
            _ => 20,
        };
        if (_store!.Count != keys)
        {
            throw new InvalidOperationException($"{_store.Count} keys instead of {keys}.");
        }
    }

    public void Dispose()
    {
        _store = null;
        _start.SignalAndWait();
        foreach (Thread thread in _threads)
        {
            thread.Join();
        }

        _start.Dispose();
        _end.Dispose();
    }

    private void Work(int thread)
    {
        while (true)
        {
            _start.SignalAndWait();
            if (_store is not { } store)
            {
                return;
            }

            Interlocked.Increment(ref _awake);
            while (Volatile.Read(ref _go) == 0)
            {
                Thread.Yield();
            }

            switch (_workload)
            {
                case StoreWorkload.SameKeys:
                    StoreCycling(store, 10);
                    break;
                case StoreWorkload.DifferentKeys:
                    StoreOwnKeys(store, thread);
                    break;
                case StoreWorkload.MixedReadsAndWrites when thread < _threads.Length / 2:
                    StoreCycling(store, 20);
                    break;
                default:
                    ReadSnapshots(store);
                    break;
            }

            _end.SignalAndWait();
        }
    }

    private void StoreCycling(IMessageStore<int> store, int keys)
    {
        int key = 0;
        for (int i = 0; i < _perThread; i++)
        {
            store.Set(_keys[key], i);
            key = key + 1 == keys ? 0 : key + 1;
        }
    }

    private void StoreOwnKeys(IMessageStore<int> store, int thread)
    {
        ReadOnlySpan<string> keys = _keys.AsSpan(thread * _perThread, _perThread);
        for (int i = 0; i < keys.Length; i++)
        {
            store.Set(keys[i], i);
        }
    }

    private void ReadSnapshots(IMessageStore<int> store)
    {
        for (int i = 0; i < _perThread; i++)
        {
            SnapshotReader.Count(store);
        }
    }
}
