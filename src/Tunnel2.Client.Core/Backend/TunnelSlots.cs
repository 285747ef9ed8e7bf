namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// What one tunnel has of the process's <see cref="BackendSlots"/>. A request that finds none waits in order. Thread-safe: the gate is that
/// of the process's slots; pools and holders are called without it.
/// </summary>
internal sealed class TunnelSlots(BackendSlots all) : IDisposable
{
    private readonly LinkedList<Waiter> _waiters = new();
    private readonly List<BackendPool> _pools = [];
    private readonly List<ISlotHolder> _holders = [];

    /// <summary>No limit except the system's.</summary>
    public static TunnelSlots Unlimited() => new BackendSlots(int.MaxValue, TimeProvider.System).AddTunnel();

    /// <summary>Those of all tunnels.</summary>
    public BackendSlots All { get; } = all;

    /// <summary>How many this tunnel has. Set under the gate; another thread may see an older value.</summary>
    internal int Held { get; set; }

    /// <summary>The number of the request that waits longest; null: none does.</summary>
    internal long? OldestUnsynchronized => _waiters.First?.Value.Number;

    /// <summary>Whether it may have one more at once.</summary>
    public bool HasRoom
    {
        get
        {
            lock (All.Gate)
            {
                return All.MayTakeUnsynchronized(this, null);
            }
        }
    }

    /// <summary>Whether a request waits that a slot of this tunnel would serve.</summary>
    public bool IsWanted
    {
        get
        {
            if (All.Waiting == 0)
            {
                return false;
            }

            lock (All.Gate)
            {
                return All.NextUnsynchronized(this) is not null;
            }
        }
    }

    /// <summary>A pool whose idle connections may make room.</summary>
    public void Add(BackendPool pool)
    {
        lock (All.Gate)
        {
            _pools.Add(pool);
        }
    }

    /// <summary>A pool that is gone.</summary>
    public void Remove(BackendPool pool)
    {
        lock (All.Gate)
        {
            _pools.Remove(pool);
        }
    }

    /// <summary>A holder whose connections may make room.</summary>
    public void Add(ISlotHolder holder)
    {
        lock (All.Gate)
        {
            _holders.Add(holder);
        }
    }

    /// <summary>A holder that is gone.</summary>
    public void Remove(ISlotHolder holder)
    {
        lock (All.Gate)
        {
            _holders.Remove(holder);
        }
    }

    /// <summary>Whether a request waits that a slot of this tunnel would serve, and the holder's own connections do not.</summary>
    public bool HasOthersWaiting(ISlotHolder holder)
    {
        if (All.Waiting == 0)
        {
            return false;
        }

        lock (All.Gate)
        {
            return All.NextUnsynchronized(this) is { } next
                && (next != this || _waiters.Any(waiter => waiter.Holder != holder));
        }
    }

    /// <summary>
    /// Takes a slot; where there is none, the oldest idle connection of a pool makes room, one of HTTP/2 without a request, or an end of
    /// one in use. Other tunnels make room with what they have beyond their share.
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
        lock (All.Gate)
        {
            if (_waiters.Count == 0 && All.TryTakeUnsynchronized(this))
            {
                return new ValueTask<BackendConnection?>((BackendConnection?)null);
            }

            waiter = new Waiter(this, pool, holder, All.BeginWaitUnsynchronized());
            _waiters.AddLast(waiter.Node);
        }

        if (pool?.TryCloseIdle() != true)
        {
            var (pools, holders) = Others();
            if (!pools.Exists(static other => other.TryCloseIdle()))
            {
                holders.Exists(other => other != holder && other.TryGiveWay());
            }
        }

        return WaitAsync(waiter, cancellationToken);
    }

    /// <summary>A connection is closed, or was not opened: its slot goes to a request that waits.</summary>
    public void Release()
    {
        lock (All.Gate)
        {
            All.ReleaseUnsynchronized(this);
        }
    }

    /// <summary>A connection was not opened, because the process has no descriptor for it.</summary>
    /// <returns>Whether the caller may wait for a connection that there is.</returns>
    public bool ReleaseWithoutDescriptor()
    {
        lock (All.Gate)
        {
            return All.ReleaseWithoutDescriptorUnsynchronized(this);
        }
    }

    /// <summary>Gives a connection of a pool to the request that its slot would go to, if that is one of the same pool.</summary>
    public bool TryHandOver(BackendPool pool, BackendConnection connection)
    {
        if (All.Waiting == 0)
        {
            return false;
        }

        lock (All.Gate)
        {
            if (All.NextUnsynchronized(this) != this || _waiters.First!.Value.Pool != pool)
            {
                return false;
            }

            ServeUnsynchronized(connection);
            return true;
        }
    }

    /// <summary>Closes an idle connection, of this pool before others: its descriptor is needed.</summary>
    public bool TryMakeRoom(BackendPool? first)
    {
        if (first?.TryCloseIdle() == true)
        {
            return true;
        }

        List<BackendPool> pools = [];
        lock (All.Gate)
        {
            foreach (var tunnel in All.TunnelsUnsynchronized)
            {
                pools.AddRange(tunnel._pools);
            }
        }

        return pools.Exists(static pool => pool.TryCloseIdle());
    }

    /// <inheritdoc/>
    public void Dispose() => All.Remove(this);

    /// <summary>The request that waits longest has its slot, or a connection that has its own.</summary>
    internal void ServeUnsynchronized(BackendConnection? connection)
    {
        var first = _waiters.First!;
        _waiters.RemoveFirst();
        All.EndWaitUnsynchronized();
        first.Value.SetResult(connection);
    }

    /// <summary>What may give back a slot that this tunnel may have.</summary>
    private (List<BackendPool> Pools, List<ISlotHolder> Holders) Others()
    {
        List<BackendPool> pools = [];
        List<ISlotHolder> holders = [];
        lock (All.Gate)
        {
            foreach (var tunnel in All.TunnelsUnsynchronized)
            {
                if (All.MayTakeUnsynchronized(this, tunnel))
                {
                    pools.AddRange(tunnel._pools);
                    holders.AddRange(tunnel._holders);
                }
            }
        }

        return (pools, holders);
    }

    private static async ValueTask<BackendConnection?> WaitAsync(Waiter waiter, CancellationToken cancellationToken)
    {
        using (cancellationToken.UnsafeRegister(static (waiter, token) => ((Waiter)waiter!).GiveUp(token), waiter))
        {
            return await waiter.Task.ConfigureAwait(false);
        }
    }

    /// <summary>A place in the queue.</summary>
    private sealed class Waiter : TaskCompletionSource<BackendConnection?>
    {
        private readonly TunnelSlots _slots;

        public Waiter(TunnelSlots slots, BackendPool? pool, ISlotHolder? holder, long number)
            : base(TaskCreationOptions.RunContinuationsAsynchronously)
        {
            _slots = slots;
            Pool = pool;
            Holder = holder;
            Number = number;
            Node = new LinkedListNode<Waiter>(this);
        }

        public BackendPool? Pool { get; }

        public ISlotHolder? Holder { get; }

        /// <summary>Its place among those of all tunnels.</summary>
        public long Number { get; }

        public LinkedListNode<Waiter> Node { get; }

        public void GiveUp(CancellationToken token)
        {
            lock (_slots.All.Gate)
            {
                if (Node.List is null)
                {
                    // It is served: the request finds out and gives it back.
                    return;
                }

                _slots._waiters.Remove(Node);
                _slots.All.EndWaitUnsynchronized();
            }

            SetCanceled(token);
        }
    }
}
