using System.Diagnostics;
using System.Diagnostics.Metrics;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Asks every event loop for a sign of life once a second. One that gives none for <see cref="Limit"/> hangs: it is given up until it
/// comes back. One whose thread has failed is dead for good. Readiness, the log and a metric tell of both. Thread-safe.
/// </summary>
internal sealed class LoopWatch : IDisposable
{
    /// <summary>How often each loop is asked.</summary>
    public static readonly TimeSpan Period = TimeSpan.FromSeconds(1);

    /// <summary>
    /// For how long a loop may owe the sign. It is asked once more before it is given up: so a loop that hangs is seen behind at most
    /// this and two periods.
    /// </summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(5);

    /// <summary>So long in real time too: where the clock only jumps, nobody had the time to answer.</summary>
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
            "Event loops that serve nobody: those that hang, and those that are dead.");
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
            _readiness.SetTrouble(Describe());
        }

        // Told first: a lock that the hanging thread holds may hold up whoever ends its connections.
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
                            // It came back in this very moment.
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
        /// <summary>Whether somebody is giving it up.</summary>
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

        /// <summary>Judges the loop, and asks it again.</summary>
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
                // Behind a stop of the whole process it has not had its chance yet.
                state = _isSuspect ? LoopState.Hung : state;
                _isSuspect = true;
            }

            loop.AskForSign();
            return state;
        }
    }
}
