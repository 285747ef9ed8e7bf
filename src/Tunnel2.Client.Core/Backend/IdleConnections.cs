using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// A pool's idle connections. Each event loop has its own, for the exchanges of the uplinks that live there: a request's whole way
/// through the agent is on one thread, and no loop waits for another's lock. How many there may be is counted over all loops.
/// Thread-safe.
/// </summary>
/// <param name="timeProvider">The clock; null: the system's.</param>
internal sealed class IdleConnections(TimeProvider? timeProvider = null)
{
    /// <summary>How many there may be.</summary>
    public const int Max = 4096;

    /// <summary>How many may rest at a time.</summary>
    public const int MaxResting = 128;

    /// <summary>By the numbers of loops; made when first used.</summary>
    private readonly LoopIdle?[] _loops = new LoopIdle?[EpollEngine.MaxLoops];
    private readonly Lock _uplinksGate = new();

    /// <summary>Those of <see cref="_loops"/> that exist; replaced as a whole.</summary>
    private volatile LoopIdle[] _used = [];
    private int _uplinks;
    private volatile bool _ended;

    /// <summary>Those to other services of the same tunnel, which live on the same loops.</summary>
    public IReadOnlyList<IdleConnections> Others { get; set; } = [];

    /// <summary>Connections kept now; while they come and go, only about right.</summary>
    public int Count
    {
        get
        {
            var count = 0;
            foreach (var idle in _used)
            {
                count += idle.Count;
            }

            return count;
        }
    }

    private int Resting
    {
        get
        {
            var count = 0;
            foreach (var idle in _used)
            {
                count += idle.Resting.Count;
            }

            return count;
        }
    }

    /// <summary>Those that live on a loop; without loops, all.</summary>
    public LoopIdle On(EpollLoop? loop) => Volatile.Read(ref _loops[loop?.Number ?? 0]) ?? Add(loop);

    /// <summary>Those that live where a connection does.</summary>
    public LoopIdle Beside(BackendConnection connection) =>
        Volatile.Read(ref _loops[connection.LoopNumber]) ?? Add(connection.Transport.Home as EpollLoop);

    /// <summary>An uplink of the tunnel is to live on a loop: what its exchanges leave there is kept from now on.</summary>
    public void Enter(EpollLoop? loop) => ChangeUplinks(loop, 1);

    /// <summary>
    /// An uplink of the tunnel is gone. Where it was the last on its loop and others are open, what is idle there is closed: it would not
    /// be used again. Where it was the last at all, the next one may come at once.
    /// </summary>
    public void Leave(EpollLoop? loop) => ChangeUplinks(loop, -1);

    /// <summary>The tunnel's uplinks on a loop.</summary>
    public int UplinksOn(EpollLoop loop)
    {
        lock (_uplinksGate)
        {
            return Volatile.Read(ref _loops[loop.Number])?.Uplinks ?? 0;
        }
    }

    /// <summary>Keeps a connection on its loop.</summary>
    /// <param name="connection">A connection that has become idle.</param>
    /// <param name="rests">Whether it is to rest before it is used again.</param>
    /// <returns>False: there is no room or no need for it, or it is not idle any more.</returns>
    public bool TryAdd(BackendConnection connection, bool rests)
    {
        var idle = Beside(connection);
        using (idle.Gate.EnterScope())
        {
            if (_ended || idle.IsLeft || !connection.IsIdle || !HasRoomFor(idle, rests))
            {
                return false;
            }

            (rests ? idle.Resting : idle.Ready).Add(connection);
            return true;
        }
    }

    /// <summary>Takes the connection that has been idle longest on any loop, one that rests before others.</summary>
    public BackendConnection? TryTakeLongestIdle()
    {
        while (true)
        {
            LoopIdle? longest = null;
            var (rests, since) = (false, 0L);
            foreach (var idle in _used)
            {
                if (idle.Count == 0)
                {
                    continue;
                }

                using (idle.Gate.EnterScope())
                {
                    var oldest = idle.Resting.Oldest ?? idle.Ready.Oldest;
                    var isResting = idle.Resting.Oldest is not null;
                    if (oldest is not null && (longest is null || (isResting == rests ? oldest.IdleSince < since : isResting)))
                    {
                        (longest, rests, since) = (idle, isResting, oldest.IdleSince);
                    }
                }
            }

            if (longest is null)
            {
                return null;
            }

            if (TryTakeOldest(longest) is { } taken)
            {
                return taken;
            }
        }
    }

    /// <summary>Takes a connection that became idle before a time.</summary>
    /// <param name="since">A timestamp.</param>
    /// <param name="resting">Whether one of those that rested, or of the others.</param>
    public BackendConnection? TryTakeIdleSince(long since, bool resting)
    {
        foreach (var idle in _used)
        {
            while (true)
            {
                BackendConnection? connection;
                using (idle.Gate.EnterScope())
                {
                    var list = resting ? idle.Resting : idle.Ready;
                    connection = list.Oldest is { } oldest && oldest.IdleSince < since ? oldest : null;
                    connection?.List!.Remove(connection);
                }

                if (connection is null)
                {
                    break;
                }

                if (connection.TryTake())
                {
                    return connection;
                }
            }
        }

        return null;
    }

    /// <summary>Closes all.</summary>
    public void CloseAll()
    {
        foreach (var idle in _used)
        {
            CloseAll(idle);
        }
    }

    /// <summary>Closes all, and keeps none from now on.</summary>
    public void End()
    {
        lock (_uplinksGate)
        {
            // Under the gate under which a loop begins to be used: it sees this, or is seen.
            _ended = true;
        }

        CloseAll();
        foreach (var idle in _used)
        {
            idle.Openings?.Dispose();
        }
    }

    private static void CloseAll(LoopIdle idle)
    {
        while (TryTakeOldest(idle) is { } connection)
        {
            connection.Dispose();
        }
    }

    private static BackendConnection? TryTakeOldest(LoopIdle idle)
    {
        while (true)
        {
            BackendConnection? connection;
            using (idle.Gate.EnterScope())
            {
                connection = idle.Resting.Oldest ?? idle.Ready.Oldest;
                connection?.List!.Remove(connection);
            }

            if (connection is null || connection.TryTake())
            {
                return connection;
            }
        }
    }

    private LoopIdle Add(EpollLoop? loop)
    {
        lock (_uplinksGate)
        {
            ref var place = ref _loops[loop?.Number ?? 0];
            if (place is null)
            {
                Volatile.Write(ref place, new LoopIdle(loop, timeProvider ?? TimeProvider.System) { IsLeft = _uplinks > 0 });
                _used = [.. _used, place!];
            }

            return place!;
        }
    }

    private void ChangeUplinks(EpollLoop? loop, int difference)
    {
        ChangeUplinks(On(loop), difference);
        foreach (var other in Others)
        {
            other.ChangeUplinks(loop, difference);
        }
    }

    private void ChangeUplinks(LoopIdle changed, int difference)
    {
        lock (_uplinksGate)
        {
            changed.Uplinks += difference;
            _uplinks += difference;
            foreach (var idle in _used)
            {
                using (idle.Gate.EnterScope())
                {
                    idle.IsLeft = idle.Uplinks == 0 && _uplinks > 0;
                }
            }
        }

        // After the gates are free: a connection that comes back from now on finds that the loop is left.
        foreach (var idle in _used)
        {
            if (idle.IsLeft)
            {
                CloseAll(idle);
            }
        }
    }

    /// <remarks>What each loop may keep in any case is asked first: then no loop has to look at the others.</remarks>
    private bool HasRoomFor(LoopIdle idle, bool rests) =>
        (idle.Count < Max / EpollEngine.MaxLoops || Count < Max)
        && (!rests || idle.Resting.Count < MaxResting / EpollEngine.MaxLoops || Resting < MaxResting);
}
