namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// How many connections to backends the process may have, over all tunnels. Each is a slot from before it is opened until it is closed,
/// whether it is in use, upgraded or kept. A request that finds none waits in order. Thread-safe.
/// </summary>
internal sealed class BackendSlots
{
    private readonly Lock _gate = new();
    private readonly LinkedList<Waiter> _waiters = new();
    private readonly List<BackendPool> _pools = [];
    private readonly List<ISlotHolder> _holders = [];
    private readonly TimeProvider _timeProvider;
    private long _reportedShortAt;
    private int _taken;
    private int _waiting;

    /// <summary>Makes slots.</summary>
    /// <param name="limit">How many, ≥ 1.</param>
    /// <param name="timeProvider">The clock.</param>
    public BackendSlots(int limit, TimeProvider timeProvider)
    {
        Limit = limit;
        _timeProvider = timeProvider;
        _reportedShortAt = timeProvider.GetTimestamp() - timeProvider.TimestampFrequency;
    }

    /// <summary>No limit except the system's.</summary>
    public static BackendSlots Unlimited() => new(int.MaxValue, TimeProvider.System);

    public int Limit { get; }

    /// <summary>Connections that there are, or are being opened.</summary>
    public int Taken => Volatile.Read(ref _taken);

    /// <summary>How many requests wait.</summary>
    public int Waiting => Volatile.Read(ref _waiting);

    /// <summary>Whether the last report of a shortage is a second ago; then the caller makes the next one.</summary>
    public bool MayReportShort()
    {
        var now = _timeProvider.GetTimestamp();
        var last = Volatile.Read(ref _reportedShortAt);
        return _timeProvider.GetElapsedTime(last, now) >= TimeSpan.FromSeconds(1)
            && Interlocked.CompareExchange(ref _reportedShortAt, now, last) == last;
    }

    /// <summary>A pool whose idle connections may make room.</summary>
    public void Add(BackendPool pool)
    {
        lock (_gate)
        {
            _pools.Add(pool);
        }
    }

    /// <summary>A pool that is gone.</summary>
    public void Remove(BackendPool pool)
    {
        lock (_gate)
        {
            _pools.Remove(pool);
        }
    }

    /// <summary>A holder whose connections may make room.</summary>
    public void Add(ISlotHolder holder)
    {
        lock (_gate)
        {
            _holders.Add(holder);
        }
    }

    /// <summary>A holder that is gone.</summary>
    public void Remove(ISlotHolder holder)
    {
        lock (_gate)
        {
            _holders.Remove(holder);
        }
    }

    /// <summary>Whether a request waits that a holder's own connections do not serve.</summary>
    public bool HasOthersWaiting(ISlotHolder holder)
    {
        if (Waiting == 0)
        {
            return false;
        }

        lock (_gate)
        {
            return _waiters.Any(waiter => waiter.Holder != holder);
        }
    }

    /// <summary>
    /// Takes a slot; where there is none, the oldest idle connection of any pool makes room, one of HTTP/2 without a request, or an end of
    /// one in use.
    /// </summary>
    /// <param name="pool">Whose connection would do as well; null: only a slot will.</param>
    /// <param name="cancellationToken">Gives up, and leaves the queue.</param>
    /// <param name="holder">The caller, where it is one: its own connections do not give way to it.</param>
    /// <returns>Null: the caller has a slot. Or a connection of its pool, which has its own.</returns>
    /// <exception cref="OperationCanceledException">Gave up.</exception>
    public ValueTask<BackendConnection?> TakeAsync(
        BackendPool? pool, CancellationToken cancellationToken, ISlotHolder? holder = null)
    {
        Waiter waiter;
        lock (_gate)
        {
            if (_taken < Limit && _waiters.Count == 0)
            {
                _taken++;
                return new ValueTask<BackendConnection?>((BackendConnection?)null);
            }

            waiter = new Waiter(this, pool, holder);
            _waiters.AddLast(waiter.Node);
            _waiting = _waiters.Count;
        }

        if (!TryMakeRoom(pool))
        {
            GiveWay(holder);
        }

        return WaitAsync(waiter, cancellationToken);
    }

    /// <summary>A connection is closed, or was not opened: its slot goes to the request that waits longest.</summary>
    public void Release()
    {
        lock (_gate)
        {
            if (!TryServeUnsynchronized(null))
            {
                _taken--;
            }
        }
    }

    /// <summary>Gives a connection of a pool to the request that waits longest, if that is one of the same pool.</summary>
    public bool TryHandOver(BackendPool pool, BackendConnection connection)
    {
        if (Waiting == 0)
        {
            return false;
        }

        lock (_gate)
        {
            return _waiters.First is { } first && first.Value.Pool == pool && TryServeUnsynchronized(connection);
        }
    }

    /// <summary>Closes an idle connection of a pool, of this one before others.</summary>
    public bool TryMakeRoom(BackendPool? first)
    {
        if (first is not null && first.TryCloseIdle())
        {
            return true;
        }

        BackendPool[] pools;
        lock (_gate)
        {
            pools = [.. _pools];
        }

        foreach (var pool in pools)
        {
            if (pool.TryCloseIdle())
            {
                return true;
            }
        }

        return false;
    }

    private void GiveWay(ISlotHolder? taker)
    {
        ISlotHolder[] holders;
        lock (_gate)
        {
            holders = [.. _holders];
        }

        foreach (var holder in holders)
        {
            if (holder != taker && holder.TryGiveWay())
            {
                return;
            }
        }
    }

    private static async ValueTask<BackendConnection?> WaitAsync(Waiter waiter, CancellationToken cancellationToken)
    {
        using (cancellationToken.UnsafeRegister(static (waiter, token) => ((Waiter)waiter!).GiveUp(token), waiter))
        {
            return await waiter.Task.ConfigureAwait(false);
        }
    }

    private bool TryServeUnsynchronized(BackendConnection? connection)
    {
        if (_waiters.First is not { } first)
        {
            return false;
        }

        _waiters.Remove(first);
        _waiting = _waiters.Count;
        first.Value.SetResult(connection);
        return true;
    }

    /// <summary>A place in the queue.</summary>
    private sealed class Waiter : TaskCompletionSource<BackendConnection?>
    {
        private readonly BackendSlots _slots;

        public Waiter(BackendSlots slots, BackendPool? pool, ISlotHolder? holder)
            : base(TaskCreationOptions.RunContinuationsAsynchronously)
        {
            _slots = slots;
            Pool = pool;
            Holder = holder;
            Node = new LinkedListNode<Waiter>(this);
        }

        public BackendPool? Pool { get; }

        public ISlotHolder? Holder { get; }

        public LinkedListNode<Waiter> Node { get; }

        public void GiveUp(CancellationToken token)
        {
            lock (_slots._gate)
            {
                if (Node.List is null)
                {
                    // It is served: the request finds out and gives it back.
                    return;
                }

                _slots._waiters.Remove(Node);
                _slots._waiting = _slots._waiters.Count;
            }

            SetCanceled(token);
        }
    }
}
