using System.Diagnostics;
using System.Diagnostics.Metrics;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Asks every event loop for a sign of life once a second. A loop that gives none for <see cref="Limit"/> hangs, and is given up until it
/// comes back. A loop whose thread has failed is dead, and stays dead. Readiness, the log and a metric report both. Thread-safe.
/// </summary>
internal sealed class LoopWatch : IDisposable
{
    /// <summary>How often each loop is asked.</summary>
    public static readonly TimeSpan Period = TimeSpan.FromSeconds(1);

    /// <summary>
    /// How long a loop may owe the sign. It is asked once more before it is given up, so a hanging loop is noticed after at most this and
    /// two periods.
    /// </summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(5);

    /// <summary>The wait in real time, at least: if the clock only jumps, the loop had no time to answer.</summary>
    private static readonly TimeSpan _leastWait = TimeSpan.FromSeconds(2);

    private const string Place = "watch of event loops";

    private readonly Watched[] _loops;
    private readonly TimeProvider _timeProvider;
    private readonly Readiness _readiness;
    private readonly ContainedFaults _faults;
    private readonly ILogger _logger;
    private readonly ITimer? _timer;
    private int _looking;

    public LoopWatch(
        IEngine engine, TimeProvider timeProvider, Readiness readiness, ContainedFaults faults, IMeterFactory meters,
        ILogger<LoopWatch> logger)
    {
        _loops = [.. engine.Loops.Select(static loop => new Watched(loop))];
        _timeProvider = timeProvider;
        _readiness = readiness;
        _faults = faults;
        _logger = logger;
        meters.Create(ProxyEntryMetrics.MeterName).CreateObservableGauge(
            "tunnel2.entry.engine.loops.failed",
            Observe,
            "{loop}",
            "Event loops that serve no connection: those that hang, and those that are dead.");
        if (_loops.Length > 0)
        {
            engine.OutlivesLoops = true;
            _timer = timeProvider.CreateTimer(static self => ((LoopWatch)self!).OnTimer(), this, Period, Period);
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _timer?.Dispose();

    private void OnTimer()
    {
        if (Interlocked.Exchange(ref _looking, 1) != 0)
        {
            return;
        }

        _faults.Run(Place, static self => self.Look(), this);
        Volatile.Write(ref _looking, 0);
    }

    private void Look()
    {
        var changed = false;
        foreach (var loop in _loops)
        {
            var before = loop.State;
            var state = loop.State = loop.Look(_timeProvider);
            changed |= state != before;
            switch (state, before)
            {
                case (LoopState.Hung, not LoopState.Hung):
                    ProxyEntryLog.LoopHangs(_logger, loop.Loop.Number, loop.Loop.HandleCount, Limit.TotalSeconds);
                    break;
                case (LoopState.Running, LoopState.Hung):
                    loop.Loop.TakeBack();
                    ProxyEntryLog.LoopIsBack(_logger, loop.Loop.Number);
                    break;
                case (LoopState.Dead, not LoopState.Dead):
                    ProxyEntryLog.LoopDied(_logger, loop.Loop.Number, loop.Loop.Failure!);
                    break;
            }
        }

        if (changed)
        {
            _readiness.SetTrouble(ReadinessTrouble.Loops, Describe());
        }

        // Logged first: a lock that the hanging thread holds may block the code that ends its connections.
        foreach (var loop in _loops)
        {
            if (loop.State == LoopState.Hung && Interlocked.Exchange(ref loop.GivingUp, 1) == 0)
            {
                ThreadPool.UnsafeQueueUserWorkItem(
                    static work =>
                    {
                        work.Faults.Run(Place, static loop => loop.GiveUp(), work.Loop.Loop);
                        if (work.Loop.State == LoopState.Running)
                        {
                            // It came back at this moment.
                            work.Loop.Loop.TakeBack();
                        }

                        Volatile.Write(ref work.Loop.GivingUp, 0);
                    },
                    (Loop: loop, Faults: _faults),
                    preferLocal: false);
            }
        }
    }

    private string? Describe()
    {
        var troubles = _loops.Where(static loop => loop.State != LoopState.Running)
            .Select(
                static loop =>
                    $"event loop {loop.Loop.Number} {(loop.State == LoopState.Dead ? "has died: restart the process" : "hangs")}")
            .ToArray();
        return troubles.Length == 0 ? null : string.Join("; ", troubles);
    }

    private IEnumerable<Measurement<int>> Observe() =>
    [
        new(_loops.Count(static loop => loop.State == LoopState.Hung), new KeyValuePair<string, object?>("state", "hung")),
        new(_loops.Count(static loop => loop.State == LoopState.Dead), new KeyValuePair<string, object?>("state", "dead")),
    ];

    private enum LoopState
    {
        Running,
        Hung,
        Dead,
    }

    private sealed class Watched(EpollLoop loop)
    {
        /// <summary>1 while a thread gives the loop up, otherwise 0.</summary>
        public int GivingUp;

        private volatile LoopState _state;
        private long _rounds = -1;
        private long _owesSince;
        private long _owesSinceReal;
        private bool _isSuspect;

        public EpollLoop Loop => loop;

        public LoopState State
        {
            get => _state;
            set => _state = value;
        }

        /// <summary>Decides the loop's state, and asks it again.</summary>
        public LoopState Look(TimeProvider time)
        {
            if (loop.Failure is not null)
            {
                return LoopState.Dead;
            }

            var state = State;
            var rounds = loop.Statistics.Rounds;
            if (rounds != _rounds)
            {
                _rounds = rounds;
                _owesSince = time.GetTimestamp();
                _owesSinceReal = Stopwatch.GetTimestamp();
                _isSuspect = false;
                state = LoopState.Running;
            }
            else if (time.GetElapsedTime(_owesSince) >= Limit && Stopwatch.GetElapsedTime(_owesSinceReal) >= _leastWait)
            {
                // If the whole process was stopped, the loop had no chance to answer yet. So it is asked once more.
                state = _isSuspect ? LoopState.Hung : state;
                _isSuspect = true;
            }

            loop.AskForSign();
            return state;
        }
    }
}
