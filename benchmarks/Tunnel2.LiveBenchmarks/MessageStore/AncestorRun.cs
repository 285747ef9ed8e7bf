using System.Globalization;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>
/// The workload as the ancestor ran it: tasks are started and key strings built inside the clock, and one live subscriber gets every
/// change.
/// </summary>
/// <remarks>
/// The four reference strategies notify after their store has returned, as the ancestor did, and so cannot be joined without loss here; the
/// striped ones notify with their stripe held. They do more than the others.
/// </remarks>
internal sealed class AncestorRun
{
    private const int OperationsPerTask = 100;
    private readonly StoreWorkload _workload;
    private readonly int _tasks;
    private readonly IMessageStore<int> _store;
    private readonly LiveSubscriber _subscriber;
    private readonly LiveSubscriber? _notifiedAfterwards;

    public AncestorRun(string strategy, StoreWorkload workload, int tasks)
    {
        _workload = workload;
        _tasks = tasks;
        _subscriber = new LiveSubscriber(tasks * OperationsPerTask);
        bool isStriped = StoreStrategy.StripesOf(strategy) > 0;
        _store = StoreStrategy.Create(strategy, tasks * OperationsPerTask, isStriped ? _subscriber : null);
        _notifiedAfterwards = isStriped ? null : _subscriber;
    }

    public Task RunAsync()
    {
        var tasks = new Task[_tasks];
        for (int i = 0; i < tasks.Length; i++)
        {
            int task = i;
            tasks[i] = Task.Run(_workload switch
            {
                StoreWorkload.SameKeys => () => StoreSameKeys(),
                StoreWorkload.DifferentKeys => () => StoreOwnKeys(task),
                _ when i < _tasks / 2 => () => StoreMixedKeys(),
                _ => ReadSnapshots,
            });
        }

        return Task.WhenAll(tasks);
    }

    /// <summary>Throws when a change did not reach the store or the subscriber.</summary>
    public void Verify()
    {
        int writers = _workload == StoreWorkload.MixedReadsAndWrites ? _tasks / 2 : _tasks;
        int keys = _workload switch
        {
            StoreWorkload.SameKeys => 10,
            StoreWorkload.DifferentKeys => writers * OperationsPerTask,
            _ => 20,
        };
        int notified = _subscriber.Drain();
        if (_store.Count != keys || notified != writers * OperationsPerTask)
        {
            throw new InvalidOperationException($"{_store.Count} keys instead of {keys}, {notified} notifications.");
        }
    }

    private void StoreSameKeys()
    {
        for (int i = 0; i < OperationsPerTask; i++)
        {
            Store("key" + (i % 10).ToString(CultureInfo.InvariantCulture), i);
        }
    }

    private void StoreOwnKeys(int task)
    {
        for (int i = 0; i < OperationsPerTask; i++)
        {
            Store("key" + ((task * OperationsPerTask) + i).ToString(CultureInfo.InvariantCulture), i);
        }
    }

    private void StoreMixedKeys()
    {
        for (int i = 0; i < OperationsPerTask; i++)
        {
            Store("key" + (i % 20).ToString(CultureInfo.InvariantCulture), i);
        }
    }

    private void ReadSnapshots()
    {
        for (int i = 0; i < OperationsPerTask; i++)
        {
            SnapshotReader.Count(_store);
        }
    }

    private void Store(string key, int value)
    {
        _store.Set(key, value);
        _notifiedAfterwards?.OnSet(key, value);
    }
}
