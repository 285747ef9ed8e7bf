using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Begins new connections of a pool on one event loop, a few in each round of it. Of a thousand requests that come at once, most are served
/// sooner by a connection that comes back in between, and the service gets no more connections than it is slow enough to need. Thread-safe.
/// </summary>
/// <param name="loop">The loop.</param>
internal sealed class LoopOpenings(EpollLoop loop)
{
    /// <summary>How many begin in one round.</summary>
    public const int MostInRound = 4;

    private readonly ShortLock _gate = new();
    private readonly Queue<Waiter> _waiters = new();

    /// <summary>Those that have their turn; only for the work of a round.</summary>
    private readonly List<Waiter> _next = [];
    private int _begun;
    private int _waiting;
    private bool _isScheduled;

    /// <summary>Requests that wait for a later round.</summary>
    public int Waiting => Volatile.Read(ref _waiting);

    /// <summary>The turn to begin a connection: at once, or after a few rounds at most.</summary>
    /// <returns>Null: it is the caller's turn. Or a connection that came back.</returns>
    public ValueTask<BackendConnection?> NextAsync()
    {
        Waiter? waiter = null;
        bool schedules;
        using (_gate.EnterScope())
        {
            if (_begun < MostInRound && _waiters.Count == 0)
            {
                _begun++;
            }
            else
            {
                waiter = new Waiter();
                _waiters.Enqueue(waiter);
                _waiting = _waiters.Count;
            }

            schedules = !_isScheduled;
            _isScheduled = true;
        }

        if (schedules)
        {
            ScheduleRound();
        }

        return waiter is null ? default : new ValueTask<BackendConnection?>(waiter.Task);
    }

    /// <summary>Gives an idle connection of the loop to the request that waits longest.</summary>
    /// <returns>False: none waits, or something has come on the connection.</returns>
    public bool TryHandOver(BackendConnection connection)
    {
        if (Waiting == 0)
        {
            return false;
        }

        Waiter waiter;
        using (_gate.EnterScope())
        {
            if (_waiters.Count == 0 || !connection.TryTake())
            {
                return false;
            }

            waiter = _waiters.Dequeue();
            _waiting = _waiters.Count;
        }

        // The caller has not ended its own exchange yet.
        waiter.Connection = connection;
        loop.Schedule(static waiter => ((Waiter)waiter!).Complete(), waiter);
        return true;
    }

    private void ScheduleRound() => loop.Turns.Schedule(static self => ((LoopOpenings)self!).BeginRound(), this);

    private void BeginRound()
    {
        using (_gate.EnterScope())
        {
            while (_next.Count < MostInRound && _waiters.TryDequeue(out var waiter))
            {
                _next.Add(waiter);
            }

            _begun = _next.Count;
            _waiting = _waiters.Count;
            _isScheduled = _begun > 0;
        }

        if (_next.Count == 0)
        {
            return;
        }

        foreach (var waiter in _next)
        {
            waiter.Complete();
        }

        _next.Clear();
        ScheduleRound();
    }

    /// <summary>A place in the queue. Its request continues on the loop.</summary>
    private sealed class Waiter : TaskCompletionSource<BackendConnection?>
    {
        public BackendConnection? Connection { get; set; }

        public void Complete() => SetResult(Connection);
    }
}
