using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Begins new connections of a pool on one event loop, a few in each round of it, and no more than its service seems to accept
/// (<see cref="OpeningPace"/>). Of a thousand requests that come at once, most are served sooner by a connection that comes back in
/// between, and the service gets no more connections than it is slow enough to need. Thread-safe.
/// </summary>
/// <param name="loop">The loop.</param>
/// <param name="timeProvider">The clock.</param>
internal sealed class LoopOpenings(EpollLoop loop, TimeProvider timeProvider) : IDisposable
{
    /// <summary>How many begin in one round.</summary>
    public const int MostInRound = 4;

    /// <summary>How long it waits to ask again whether one more may begin, unless a connection comes back before.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(1);

    private readonly ShortLock _gate = new();
    private readonly OpeningPace _pace = new(timeProvider.TimestampFrequency);
    private readonly Queue<Waiter> _waiters = new();

    /// <summary>Those that have their turn; only for the work of a round.</summary>
    private readonly List<Waiter> _next = [];
    private ITimer? _timer;
    private int _begun;
    private int _waiting;
    private bool _isScheduled;
    private bool _isPaused;
    private bool _isOver;

    /// <summary>Requests that wait for a later round.</summary>
    public int Waiting => Volatile.Read(ref _waiting);

    /// <summary>The turn to begin a connection: at once, or when few enough are without an answer.</summary>
    /// <returns>Null: it is the caller's turn. Or a connection that came back.</returns>
    public ValueTask<BackendConnection?> NextAsync()
    {
        Waiter? waiter = null;
        bool schedules;
        var now = timeProvider.GetTimestamp();
        using (_gate.EnterScope())
        {
            if (_waiters.Count == 0)
            {
                _pace.Wait(now);
            }

            if (_waiters.Count == 0 && _begun < MostInRound && _pace.MayBegin(now))
            {
                _begun++;
                _pace.Begin(now, 0);
            }
            else
            {
                waiter = new Waiter(now);
                _waiters.Enqueue(waiter);
                _waiting = _waiters.Count;
            }

            schedules = !_isScheduled && (waiter is null || !_isPaused);
            _isScheduled |= schedules;
        }

        if (schedules)
        {
            ScheduleRound();
        }

        return waiter is null ? default : new ValueTask<BackendConnection?>(waiter.Task);
    }

    /// <summary>Gives an idle connection of the loop to the request that waits longest.</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="now">A timestamp of the clock.</param>
    /// <returns>False: none waits, or something has come on the connection.</returns>
    public bool TryHandOver(BackendConnection connection, long now)
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
            _pace.HandOver(now, now - waiter.Since);
        }

        // The caller has not ended its own exchange yet.
        waiter.Connection = connection;
        loop.Schedule(static waiter => ((Waiter)waiter!).Complete(), waiter);
        return true;
    }

    /// <summary>The first exchange of a new connection has ended clean, and the connection may be used again.</summary>
    /// <param name="begun">When the connection began, a timestamp of the clock.</param>
    /// <param name="now">Such a timestamp.</param>
    public void Answered(long begun, long now) => End(begun, now, isAnswer: true);

    /// <summary>A turn was not used, or its connection could not be opened, or has ended with its first exchange.</summary>
    /// <param name="begun">When the turn came, a timestamp of the clock.</param>
    public void Ended(long begun) => End(begun, timeProvider.GetTimestamp(), isAnswer: false);

    /// <summary>Ends the clock. Who waits gets a turn at once.</summary>
    public void Dispose()
    {
        using (_gate.EnterScope())
        {
            _isOver = true;
        }

        OnPauseEnded();
        _timer?.Dispose();
    }

    private void End(long begun, long now, bool isAnswer)
    {
        bool schedules;
        using (_gate.EnterScope())
        {
            if (isAnswer)
            {
                _pace.Answer(now, begun);
            }
            else
            {
                _pace.End(now, begun);
            }

            schedules = _waiters.Count > 0 && !_isScheduled;
            _isScheduled |= schedules;
        }

        if (schedules)
        {
            ScheduleRound();
        }
    }

    private void ScheduleRound() => loop.Turns.Schedule(static self => ((LoopOpenings)self!).BeginRound(), this);

    private void BeginRound()
    {
        var now = timeProvider.GetTimestamp();
        bool pauses;
        using (_gate.EnterScope())
        {
            while (_next.Count < MostInRound && (_isOver || _pace.MayBegin(now)) && _waiters.TryDequeue(out var waiter))
            {
                _pace.Begin(now, Math.Max(1, now - waiter.Since));
                _next.Add(waiter);
            }

            _begun = _next.Count;
            _waiting = _waiters.Count;
            _isScheduled = _begun > 0;
            pauses = !_isScheduled && _waiting > 0 && !_isPaused;
            _isPaused |= pauses;
        }

        foreach (var waiter in _next)
        {
            waiter.Complete();
        }

        if (pauses)
        {
            _timer ??= timeProvider.CreateTimer(
                static self => ((LoopOpenings)self!).OnPauseEnded(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            _timer.Change(_pause, Timeout.InfiniteTimeSpan);
        }
        else if (_next.Count > 0)
        {
            _next.Clear();
            ScheduleRound();
        }
    }

    private void OnPauseEnded()
    {
        bool schedules;
        using (_gate.EnterScope())
        {
            _isPaused = false;
            schedules = _waiters.Count > 0 && !_isScheduled;
            _isScheduled |= schedules;
        }

        if (schedules)
        {
            ScheduleRound();
        }
    }

    /// <summary>A place in the queue. Its request continues on the loop.</summary>
    private sealed class Waiter(long since) : TaskCompletionSource<BackendConnection?>
    {
        /// <summary>When it began to wait.</summary>
        public long Since { get; } = since;

        public BackendConnection? Connection { get; set; }

        public void Complete() => SetResult(Connection);
    }
}
