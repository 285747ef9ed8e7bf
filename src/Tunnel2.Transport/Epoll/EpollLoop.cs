using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.IO.Pipelines;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// One thread that waits for sockets and runs their code. A round is the events of one <c>epoll_wait</c>, and then the scheduled work. So
/// work that gains from being batched (an uplink's sends) is scheduled, and runs after every event of the round has added its share.
/// Scheduling is thread-safe; the loop's thread is woken only when it sleeps.
/// </summary>
/// <remarks>
/// No connection can hold the thread: one that has had its share of a round continues by <see cref="Turns"/>, after the sockets' next
/// events, and a round spends a limited time on the work of other threads. An exception in a socket's callback ends that socket and nothing
/// else. A fault of the loop itself ends its thread and the loop: its sockets are reset, and work that is scheduled later runs on the pool.
/// The same holds for a loop that was given up because its thread hangs, until it comes back.
/// </remarks>
internal sealed unsafe partial class EpollLoop : PipeScheduler, IDisposable
{
    /// <summary>In how many rounds the loop still runs work that schedules more work, when it ends.</summary>
    private const int LastRounds = 1000;

    private const string EventPlace = "socket event";
    private const string WorkPlace = "loop work";

    /// <summary>
    /// How much time a round spends on connections that had a turn before, after the first of them, until it looks at the sockets again.
    /// </summary>
    private static readonly long _turnsTicks = Stopwatch.Frequency / 2000;

    /// <summary>How much time a round spends on the work of other threads until it looks at the sockets again.</summary>
    private static readonly long _remoteTicks = Stopwatch.Frequency / 500;

    private static readonly TimeSpan _endLimit = TimeSpan.FromSeconds(10);

    private readonly int _epoll;
    private readonly int _wake;
    private readonly EpollSlots _slots = new();
    private readonly ConcurrentQueue<LoopWork> _remote = new();

    /// <summary>Keeps the loop's own two descriptors from being used after their close.</summary>
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
    /// <param name="faults">Counts faults of callbacks; null: they are not counted.</param>
    /// <param name="number">Its number among its engine's loops.</param>
    /// <param name="isSpare">
    /// Called on the loop's thread when that has failed: whether other loops do its work, so that the process continues. If not (also when
    /// null), the fault ends the process, like a fault of any thread.
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

        // Edge-triggered: each write is a new event, so the counter need not be read.
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

    /// <summary>Counters of the loop's work.</summary>
    public LoopStatistics Statistics { get; } = new();

    /// <summary>Exceptions of callbacks.</summary>
    public ContainedFaults Faults { get; }

    /// <summary>
    /// Where code continues that has had a turn: after the events and the scheduled work of a round that began with a new look at the
    /// sockets, and after all others that already wait for a turn. From another thread it is the same as <see cref="Schedule"/>.
    /// </summary>
    public PipeScheduler Turns { get; }

    /// <summary>
    /// The number of the current round. On the loop's thread, all work under one number holds up all other connections of the loop.
    /// </summary>
    public long Round => _round;

    /// <summary>When the current round began, by <see cref="Stopwatch.GetTimestamp"/>.</summary>
    public long RoundBegan { get; private set; }

    /// <summary>How many bytes count as a step of a <see cref="WorkTurn"/> in the current round.</summary>
    public int BytesPerStep { get; private set; } = WorkTurn.LoneBytesPerStep;

    /// <summary>The number of sockets and listeners for which it waits.</summary>
    public int HandleCount => _slots.Count;

    /// <summary>Runs work on the loop's thread, after the events of the current round. Once the loop has ended: on the pool.</summary>
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
            // The loop may have looked at its queues for the last time before this was queued.
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

    /// <summary>Makes the loop wait for a descriptor. It is registered once; closing the descriptor ends the registration.</summary>
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

    /// <summary>Removes a handle whose descriptor is being closed.</summary>
    public void Unregister(EpollHandle handle) => _slots.Remove(handle);

    /// <summary>
    /// Removes a handle whose socket other processes hold too: closing the descriptor does not end the kernel's events for it.
    /// </summary>
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

    /// <summary>Ends the loop and closes the descriptors for which it waits.</summary>
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
            // It ends when its current callback returns. A callback that never returns must not keep the process.
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
            // The other loops continue.
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
            var count = waits ? PollThenSleep(ended) : _fetched == 0 ? _events.Wait(_epoll, 0, EventsPerRound, 0) : 0;
            NoteWait(count);

            var started = Stopwatch.GetTimestamp();
            if (waits)
            {
                _polling.Waited(started - ended, count);
            }

            _round++;
            RoundBegan = started;
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

    /// <summary>Waits for events or for work from other threads.</summary>
    /// <param name="began">When the loop became idle.</param>
    /// <returns>The number of events; negative: the error.</returns>
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

        var events = _events.Wait(_epoll, 0, EventsPerRound, MayISleep() ? -1 : 0);
        Volatile.Write(ref _sleeping, 0);
        return events;
    }

    /// <summary>Polls repeatedly.</summary>
    /// <returns>
    /// The number of events, or the error; null when the patience is over, or when another thread needs the processor.
    /// </returns>
    private int? Poll(long began, long patience)
    {
        for (var asked = began; asked - began < patience;)
        {
            // A polling loop need not be woken: it looks at both queues.
            var count = _events.Wait(_epoll, 0, EventsPerRound, 0);
            if (count != 0 || !_remote.IsEmpty)
            {
                return count;
            }

            // Other threads that want this processor go first: one of them may be the peer for which the loop waits.
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
    /// Marks the loop as sleeping, and then looks once more. A thread that queues work after that look sees the mark and wakes the loop.
    /// </summary>
    private bool MayISleep()
    {
        Interlocked.Exchange(ref _sleeping, 1);
        return _remote.IsEmpty && !_stopping && !_signWanted;
    }

    private void RunScheduled()
    {
        // Work that this work schedules belongs to the next round, so that sockets come first again.
        (_local, _running) = (_running, _local);
        foreach (var work in _running)
        {
            Run(work);
        }

        _running.Clear();
    }

    /// <summary>Runs the turns that were waiting when the round began: the first in any case, so that each gets its turn.</summary>
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
                // Not in order: the peer must not take its bytes for a complete message.
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
            // Work that never ends goes to the pool.
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
