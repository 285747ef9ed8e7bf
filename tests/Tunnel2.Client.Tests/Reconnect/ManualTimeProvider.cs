namespace Tunnel2.Client.Tests.Reconnect;

/// <summary>
/// A clock that stands still until a test moves it, or, with <see cref="SkipsWaits"/>, jumps to the end of every wait as soon as it begins.
/// </summary>
internal sealed class ManualTimeProvider : TimeProvider
{
    private readonly Lock _lock = new();
    private readonly List<ManualTimer> _timers = [];
    private readonly TaskCompletionSource _timerStarted = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private long _ticks;

    public bool SkipsWaits { get; init; }

    public TimeSpan Elapsed => TimeSpan.FromTicks(Interlocked.Read(ref _ticks));

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => Interlocked.Read(ref _ticks);

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch + Elapsed;

    /// <summary>Ends when code under test begins its first wait.</summary>
    public Task WaitForTimerAsync() => _timerStarted.Task.WaitAsync(TestContext.Current.CancellationToken);

    public void Advance(TimeSpan by)
    {
        ManualTimer[] due;
        lock (_lock)
        {
            _ticks += by.Ticks;
            due = [.. _timers.Where(timer => timer.Due <= _ticks)];
            _timers.RemoveAll(timer => timer.Due <= _ticks);
        }

        foreach (ManualTimer timer in due)
        {
            timer.Fire();
        }
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new ManualTimer(this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    private void Start(ManualTimer timer, TimeSpan dueTime)
    {
        bool fires = false;
        lock (_lock)
        {
            _timers.Remove(timer);
            if (dueTime == Timeout.InfiniteTimeSpan)
            {
                return;
            }

            timer.Due = _ticks + dueTime.Ticks;
            if (SkipsWaits)
            {
                _ticks = timer.Due;
                fires = true;
            }
            else
            {
                _timers.Add(timer);
            }
        }

        _timerStarted.TrySetResult();
        if (fires)
        {
            ThreadPool.QueueUserWorkItem(static timer => timer.Fire(), timer, preferLocal: false);
        }
    }

    private void Remove(ManualTimer timer)
    {
        lock (_lock)
        {
            _timers.Remove(timer);
        }
    }

    private sealed class ManualTimer(ManualTimeProvider owner, TimerCallback callback, object? state) : ITimer
    {
        public long Due { get; set; }

        public void Fire() => callback(state);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            owner.Start(this, dueTime);
            return true;
        }

        public void Dispose() => owner.Remove(this);

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
