using System.Collections.Concurrent;

namespace Tunnel2.TestUtilities;

/// <summary>
/// A clock that stops until it is moved: its time of day, its timestamps and its timers change only by
/// <see cref="Advance"/>. Thread-safe.
/// </summary>
/// <remarks>
/// <see cref="Advance"/> stops at every timer on its way: a callback sees the time it was due at, callbacks run in the order of their due
/// times, on the advancing thread and outside any lock. A timer that is due at once (zero) needs no advance and runs on the thread pool.
/// A test that advances must first know that the code under test has set its timer: wait on <see cref="ArmedTimers"/>, or where a whole
/// server sets others in the meantime, on <see cref="SetFor"/>.
/// </remarks>
public sealed class ManualTimeProvider : TimeProvider
{
    private readonly Lock _lock = new();
    private readonly List<ManualTimer> _armed = [];
    private readonly ConcurrentDictionary<TimeSpan, AsyncCounter> _setFor = new();
    private readonly DateTimeOffset _start;
    private long _setTicks;
    private long _elapsedTicks;
    private long _targetTicks;
    private long _sequence;

    /// <param name="start">The time of day to begin with; default: 2030-01-01 00:00 UTC.</param>
    public ManualTimeProvider(DateTimeOffset? start = null)
    {
        _start = (start ?? new DateTimeOffset(2030, 1, 1, 0, 0, 0, TimeSpan.Zero)).ToUniversalTime();
    }

    /// <summary>Whether the clock jumps to the end of every wait as soon as it begins, instead of standing still.</summary>
    public bool SkipsWaits { get; init; }

    /// <summary>How many timers wait to be due.</summary>
    public AsyncCounter ArmedTimers { get; } = new("armed timers");

    /// <summary>How many times a timer was set, by creating or by changing it.</summary>
    public AsyncCounter TimersSet { get; } = new("timers set");

    /// <summary>How many times a timer was set that is due after this time.</summary>
    public AsyncCounter SetFor(TimeSpan dueTime) =>
        _setFor.GetOrAdd(dueTime, static time => new AsyncCounter($"timers set for {time}"));

    /// <summary>How far the clock has moved since it was made.</summary>
    public TimeSpan Elapsed => TimeSpan.FromTicks(Interlocked.Read(ref _elapsedTicks));

    /// <inheritdoc/>
    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    /// <inheritdoc/>
    public override TimeZoneInfo LocalTimeZone => TimeZoneInfo.Utc;

    /// <inheritdoc/>
    public override long GetTimestamp() => Interlocked.Read(ref _elapsedTicks);

    /// <inheritdoc/>
    public override DateTimeOffset GetUtcNow() => _start + Elapsed + TimeSpan.FromTicks(Interlocked.Read(ref _setTicks));

    /// <inheritdoc/>
    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        ArgumentNullException.ThrowIfNull(callback);
        var timer = new ManualTimer(this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    /// <summary>
    /// Moves the clock forward and runs the timers that become due. May be called from several threads and from a timer's callback; the
    /// distances add up.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="by"/> is negative.</exception>
    public void Advance(TimeSpan by)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(by, TimeSpan.Zero);
        long target;
        lock (_lock)
        {
            _targetTicks += by.Ticks;
            target = _targetTicks;
        }

        while (TakeNextDue(target) is { } timer)
        {
            timer.Fire();
        }
    }

    /// <summary>
    /// Moves the clock forward as a process sees it that was stopped for this time: the timers that became due run after it. Otherwise as
    /// <see cref="Advance"/>.
    /// </summary>
    public void Jump(TimeSpan by)
    {
        lock (_lock)
        {
            MoveToUnsynchronized(_targetTicks + by.Ticks);
        }

        Advance(by);
    }

    /// <summary>Sets the time of day forward or back, as an administrator does: timestamps and timers do not notice.</summary>
    public void Set(TimeSpan by) => Interlocked.Add(ref _setTicks, by.Ticks);

    private ManualTimer? TakeNextDue(long target)
    {
        lock (_lock)
        {
            var next = _armed.Where(timer => timer.DueTicks <= target).MinBy(timer => (timer.DueTicks, timer.Sequence));
            MoveToUnsynchronized(next?.DueTicks ?? target);
            if (next is null)
            {
                return null;
            }

            if (next.PeriodTicks > 0)
            {
                next.DueTicks += next.PeriodTicks;
                next.Sequence = _sequence++;
            }
            else
            {
                DisarmUnsynchronized(next);
            }

            return next;
        }
    }

    private void MoveToUnsynchronized(long ticks)
    {
        // Another thread that advances further may already be ahead.
        if (ticks > _elapsedTicks)
        {
            Interlocked.Exchange(ref _elapsedTicks, ticks);
        }
    }

    private void DisarmUnsynchronized(ManualTimer timer)
    {
        if (_armed.Remove(timer))
        {
            ArmedTimers.Decrement();
        }
    }

    private sealed class ManualTimer(ManualTimeProvider provider, TimerCallback callback, object? state) : ITimer, IThreadPoolWorkItem
    {
        private readonly ExecutionContext? _context = ExecutionContext.Capture();
        private bool _isDisposed;

        public long DueTicks { get; set; }

        public long PeriodTicks { get; private set; }

        public long Sequence { get; set; }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(dueTime, Timeout.InfiniteTimeSpan);
            ArgumentOutOfRangeException.ThrowIfLessThan(period, Timeout.InfiniteTimeSpan);
            var isDueNow = dueTime == TimeSpan.Zero || (provider.SkipsWaits && dueTime > TimeSpan.Zero);
            lock (provider._lock)
            {
                if (_isDisposed)
                {
                    return false;
                }

                provider.DisarmUnsynchronized(this);
                PeriodTicks = period > TimeSpan.Zero ? period.Ticks : 0;
                if (isDueNow)
                {
                    provider._targetTicks = Math.Max(provider._targetTicks, provider._elapsedTicks + dueTime.Ticks);
                    provider.MoveToUnsynchronized(provider._elapsedTicks + dueTime.Ticks);
                }

                var firstArmed = isDueNow ? TimeSpan.FromTicks(PeriodTicks) : dueTime;
                if (firstArmed > TimeSpan.Zero)
                {
                    DueTicks = provider._elapsedTicks + firstArmed.Ticks;
                    Sequence = provider._sequence++;
                    provider._armed.Add(this);
                    provider.ArmedTimers.Increment();
                }

                provider.TimersSet.Increment();
                provider.SetFor(dueTime).Increment();
            }

            if (isDueNow)
            {
                ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
            }

            return true;
        }

        public void Fire()
        {
            if (_context is null)
            {
                callback(state);
            }
            else
            {
                ExecutionContext.Run(_context, static timer => ((ManualTimer)timer!).Invoke(), this);
            }
        }

        public void Execute() => Fire();

        public void Dispose()
        {
            lock (provider._lock)
            {
                _isDisposed = true;
                provider.DisarmUnsynchronized(this);
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }

        private void Invoke() => callback(state);
    }
}
