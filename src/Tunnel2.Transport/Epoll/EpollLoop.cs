using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.IO.Pipelines;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// One thread that waits for sockets and runs what they wake: a round is the events of one <c>epoll_wait</c>, then the work that was
/// scheduled until then. So what should wait for company (an uplink's batch) is scheduled, and runs when every event of the round has added
/// its share. Scheduling is thread-safe; the loop's thread is woken only when it sleeps.
/// </summary>
/// <remarks>
/// Nobody holds the thread: a connection that has had its share of a round goes on by <see cref="Turns"/>, after whatever the sockets
/// have by then, and of what other threads post a round takes as much as a moment allows. What a callback throws ends its socket, if it
/// is a socket's, and nothing else. A fault of the loop itself ends its thread, and with it the loop: its sockets are reset, and what is
/// scheduled from then on runs on the pool. So does that of a loop that was given up because its thread hangs, until it comes back.
/// </remarks>
internal sealed unsafe partial class EpollLoop : PipeScheduler, IDisposable
{
    /// <summary>Rounds in which work that schedules work is still run when the loop ends.</summary>
    private const int LastRounds = 1000;

    private const string EventPlace = "socket event";
    private const string WorkPlace = "loop work";

    /// <summary>
    /// What a round spends on those that have had a turn already, beyond the first of them, before it looks at the sockets again.
    /// </summary>
    private static readonly long _turnsTicks = Stopwatch.Frequency / 2000;

    /// <summary>What a round spends on the work of other threads before it looks at the sockets again.</summary>
    private static readonly long _remoteTicks = Stopwatch.Frequency / 500;

    private static readonly TimeSpan _endLimit = TimeSpan.FromSeconds(10);

    private readonly int _epoll;
    private readonly int _wake;
    private readonly EpollSlots _slots = new();
    private readonly ConcurrentQueue<LoopWork> _remote = new();

    /// <summary>Guards the loop's own two descriptors against use after their close.</summary>
    private readonly Lock _descriptors = new();

    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private List<LoopWork> _local = new(256);
    private List<LoopWork> _running = new(256);
    private readonly Queue<LoopWork> _turns = new();
    private long _round;
    private PollingBudget _polling = new(LoopPolling.Patience);
    private int _threadId;
    private int _sleeping;
    private volatile bool _stopping;
    private volatile bool _stopped;

    /// <summary>Starts a loop.</summary>
    /// <param name="faults">Where faults of callbacks are counted; null: nobody looks at them.</param>
    /// <param name="number">Its number among its engine's loops.</param>
    /// <param name="isSpare">
    /// Asked on the loop's thread when that cannot go on: whether others do its work, so that the process goes on. Where not (null too),
    /// the fault ends the process, as that of any thread does.
    /// </param>
    /// <exception cref="IOException">The system has no descriptor for it.</exception>
    public EpollLoop(ContainedFaults? faults = null, int number = 0, Func<bool>? isSpare = null)
    {
        _isSpare = isSpare;
        Faults = faults ?? new ContainedFaults();
        Turns = new LoopTurns(this);
        Number = number;
        _epoll = Libc.EpollCreate(Libc.EpollCloseOnExec);
        _wake = _epoll < 0 ? -1 : Libc.EventDescriptor(0, Libc.EpollCloseOnExec | Libc.OpenNonBlock);

        // Edge-triggered: each write is a new event, so that nobody has to read the counter.
        if (_wake < 0 || EpollEvents.Control(_epoll, Libc.EpollCtlAdd, _wake, EpollEvents.In | EpollEvents.EdgeTriggered, 0) != 0)
        {
            var errno = Errno.Last;
            _ = Libc.Close(_wake);
            _ = Libc.Close(_epoll);
            _events.Dispose();
            throw Errno.ToException(errno);
        }

        new Thread(Run) { IsBackground = true, Name = string.Create(CultureInfo.InvariantCulture, $"Tunnel2 loop {number}") }.Start();
    }

    /// <summary>Its number among its engine's loops, from 0.</summary>
    public int Number { get; }

    /// <summary>Whether the caller is on the loop's thread.</summary>
    public bool IsCurrent => Environment.CurrentManagedThreadId == Volatile.Read(ref _threadId);

    /// <summary>What the loop has done.</summary>
    public LoopStatistics Statistics { get; } = new();

    /// <summary>What callbacks threw.</summary>
    public ContainedFaults Faults { get; }

    /// <summary>
    /// Where somebody goes on who has had a turn: after the events and the scheduled work of a round that began with a new look at the
    /// sockets, and there after all who wait for their next turn already. From another thread: as <see cref="Schedule"/>.
    /// </summary>
    public PipeScheduler Turns { get; }

    /// <summary>The number of the round under way: on the loop's thread, what is done under one number holds up everybody else.</summary>
    public long Round => _round;

    /// <summary>What counts as a step of a <see cref="WorkTurn"/> in the round under way, in bytes.</summary>
    public int BytesPerStep { get; private set; } = WorkTurn.LoneBytesPerStep;

    /// <summary>Sockets and listeners that it waits for.</summary>
    public int HandleCount => _slots.Count;

    /// <summary>Runs work on the loop's thread, after the events of the present round. Once the loop has ended: on the pool.</summary>
    public override void Schedule(Action<object?> action, object? state)
    {
        if (IsCurrent)
        {
            _local.Add(new LoopWork(action, state));
            return;
        }

        if (_stopped || _givenUp)
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: false);
            return;
        }

        _remote.Enqueue(new LoopWork(action, state));
        Wake();
        if (_stopped || _givenUp)
        {
            // The loop may have looked for the last time before this was queued.
            RunRemoteOnPool();
        }
    }

    /// <summary>See <see cref="Turns"/>.</summary>
    internal void ScheduleTurn(Action<object?> action, object? state)
    {
        if (IsCurrent)
        {
            _turns.Enqueue(new LoopWork(action, state));
        }
        else
        {
            Schedule(action, state);
        }
    }

    /// <summary>Makes the loop wait for a descriptor; it is told once, and closing the descriptor is the end of it.</summary>
    /// <returns>0, or the error.</returns>
    public int Register(EpollHandle handle, int descriptor, uint mask)
    {
        lock (_descriptors)
        {
            if (_stopping)
            {
                return Errno.Canceled;
            }

            handle.LastEvent = 0;
            _slots.Add(handle);
            var errno = EpollEvents.Control(_epoll, Libc.EpollCtlAdd, descriptor, mask, handle.Token);
            if (errno != 0)
            {
                _slots.Remove(handle);
            }

            return errno;
        }
    }

    /// <summary>Forgets a handle whose descriptor is being closed.</summary>
    public void Unregister(EpollHandle handle) => _slots.Remove(handle);

    /// <summary>Forgets a handle whose socket others hold too: closing the descriptor does not end the kernel's events for it.</summary>
    public void Unregister(EpollHandle handle, int descriptor)
    {
        lock (_descriptors)
        {
            if (!_stopping)
            {
                EpollEvents.Control(_epoll, Libc.EpollCtlDelete, descriptor, 0, 0);
            }
        }

        _slots.Remove(handle);
    }

    /// <summary>Ends the loop and closes what it still waits for.</summary>
    public void Dispose()
    {
        lock (_descriptors)
        {
            if (_stopping)
            {
                return;
            }

            _stopping = true;
        }

        Signal();
        if (!IsCurrent)
        {
            // It ends when the callback that it is in returns. One that never does must not keep the process.
            _ended.Task.Wait(_endLimit);
        }
    }

    private void Run()
    {
        Volatile.Write(ref _threadId, Environment.CurrentManagedThreadId);
        Stripe.Use(Number);
        try
        {
            RunRounds();
        }
        catch (Exception exception) when (MayGoOnWithout(exception))
        {
            // The others serve on.
        }

        Stop();
    }

    private void RunRounds()
    {
        var ended = Stopwatch.GetTimestamp();
        while (!_stopping)
        {
            var waits = _local.Count == 0 && _turns.Count == 0 && _fetched == 0;
            var due = _turns.Count;
            var count = waits ? PollThenSleep(ended) : _fetched == 0 ? Libc.EpollWait(_epoll, _events.At(0), EventsPerRound, 0) : 0;
            if (count < 0)
            {
                ThrowUnlessInterrupted();
            }

            var started = Stopwatch.GetTimestamp();
            if (waits)
            {
                _polling.Waited(started - ended, count);
            }

            _round++;
            BytesPerStep = WorkTurn.BytesPerStepBeside(due, Math.Max(_fetched, count));
            _signWanted = false;
            count = HandleEvents(count, started);
            RunScheduled();
            RunTurns(due);
            RunRemote();
            ended = Stopwatch.GetTimestamp();
            Statistics.RoundEnded(count);
        }
    }

    /// <summary>Waits for events or for work of other threads.</summary>
    /// <param name="began">When the loop had nothing to do any more.</param>
    /// <returns>Events that came; negative where the wait was interrupted.</returns>
    private int PollThenSleep(long began)
    {
        var patience = _polling.PatienceAt(began);
        if (patience > 0 && LoopPolling.TryBegin())
        {
            var count = Poll(began, patience);
            LoopPolling.End();
            if (count is { } found)
            {
                return found;
            }
        }

        var events = Libc.EpollWait(_epoll, _events.At(0), EventsPerRound, MayISleep() ? -1 : 0);
        Volatile.Write(ref _sleeping, 0);
        return events;
    }

    /// <summary>Asks again and again.</summary>
    /// <returns>Events; null where the patience is at its end, or somebody else needs the processor.</returns>
    private int? Poll(long began, long patience)
    {
        for (var asked = began; asked - began < patience;)
        {
            // Nobody has to wake a loop that asks: it looks at both queues.
            var count = Libc.EpollWait(_epoll, _events.At(0), EventsPerRound, 0);
            if (count != 0 || !_remote.IsEmpty)
            {
                return count;
            }

            // Other threads that want this processor go first: it may be the very peer that the loop waits for.
            _ = Libc.YieldProcessor();
            var now = Stopwatch.GetTimestamp();
            if (!_polling.WasAway(now - asked, now))
            {
                break;
            }

            asked = now;
        }

        return null;
    }

    /// <summary>
    /// Says that the loop sleeps, and then looks once more: a thread that queues after the look sees the word and wakes it.
    /// </summary>
    private bool MayISleep()
    {
        Interlocked.Exchange(ref _sleeping, 1);
        return _remote.IsEmpty && !_stopping && !_signWanted;
    }

    private void RunScheduled()
    {
        // What this work schedules in its turn belongs to the next round: sockets come first again.
        (_local, _running) = (_running, _local);
        foreach (var work in _running)
        {
            Run(work);
        }

        _running.Clear();
    }

    /// <summary>Gives turns to those that waited for one when the round began: to the first in any case, so that all come to it.</summary>
    private void RunTurns(int due)
    {
        if (due == 0)
        {
            return;
        }

        var until = Stopwatch.GetTimestamp() + _turnsTicks;
        do
        {
            Run(_turns.Dequeue());
        }
        while (--due > 0 && Stopwatch.GetTimestamp() < until);
    }

    private void RunRemote()
    {
        var left = _remote.Count;
        if (left == 0)
        {
            return;
        }

        for (var until = Stopwatch.GetTimestamp() + _remoteTicks; left > 0 && _remote.TryDequeue(out var work); left--)
        {
            Run(work);
            if (Stopwatch.GetTimestamp() > until)
            {
                return;
            }
        }
    }

    private void Handle(EpollHandle handle, uint mask)
    {
        try
        {
            handle.OnEvents(mask);
        }
        catch (Exception exception)
        {
            Faults.Add(EventPlace, exception);
            Faults.Run(EventPlace, static handle => handle.OnFault(), handle);
        }
    }

    private void Run(in LoopWork work)
    {
        try
        {
            work.Action(work.State);
        }
        catch (Exception exception)
        {
            Faults.Add(WorkPlace, exception);
        }
    }

    private void Wake()
    {
        if (Interlocked.Exchange(ref _sleeping, 0) != 0)
        {
            Signal();
        }
    }

    private void Signal()
    {
        lock (_descriptors)
        {
            if (!_stopped)
            {
                var one = 1UL;
                _ = Libc.Write(_wake, (byte*)&one, sizeof(ulong));
            }
        }
    }

    private void Stop()
    {
        foreach (var handle in _slots.Snapshot())
        {
            if (_failure is not null)
            {
                // Not in order: what its peer has must not look whole.
                Faults.Run(EventPlace, static handle => handle.OnLoopLost(), handle);
            }

            Faults.Run(EventPlace, static handle => handle.OnLoopStopped(), handle);
        }

        for (var round = 0; round < LastRounds && (_local.Count > 0 || _turns.Count > 0); round++)
        {
            _round++;
            RunScheduled();
            RunTurns(_turns.Count);
        }

        foreach (var work in _local.Concat(_turns))
        {
            // Work without an end: the pool's.
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(work.Action, work.State, preferLocal: false);
        }

        lock (_descriptors)
        {
            _stopped = true;
            _ = Libc.Close(_epoll);
            _ = Libc.Close(_wake);
        }

        Volatile.Write(ref _threadId, 0);
        RunRemoteOnPool();
        _events.Dispose();
        _ended.SetResult();
    }

    private void RunRemoteOnPool()
    {
        while (_remote.TryDequeue(out var work))
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(work.Action, work.State, preferLocal: false);
        }
    }

    private readonly record struct LoopWork(Action<object?> Action, object? State);
}
