namespace Tunnel2.TestUtilities.Tests.Time;

public sealed class ManualTimeProviderTests
{
    [Fact]
    public void Time_and_timestamps_move_only_on_demand()
    {
        var time = new ManualTimeProvider();
        var (now, stamp) = (time.GetUtcNow(), time.GetTimestamp());
        Assert.Equal(TimeSpan.Zero, time.GetElapsedTime(stamp));
        time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal(TimeSpan.FromSeconds(5), time.GetElapsedTime(stamp));
        Assert.Equal(now.AddSeconds(5), time.GetUtcNow());
        Assert.Throws<ArgumentOutOfRangeException>(() => time.Advance(TimeSpan.FromTicks(-1)));
    }

    [Fact]
    public void To_set_the_time_of_day_moves_no_timestamp_and_no_timer()
    {
        var time = new ManualTimeProvider();
        var (now, stamp) = (time.GetUtcNow(), time.GetTimestamp());
        using var timer = time.CreateTimer(
            static _ => Assert.Fail("It is not due."), null, TimeSpan.FromSeconds(1), Timeout.InfiniteTimeSpan);
        time.Set(TimeSpan.FromHours(1));
        Assert.Equal((now.AddHours(1), stamp), (time.GetUtcNow(), time.GetTimestamp()));
        time.Set(TimeSpan.FromHours(-2));
        Assert.Equal((now.AddHours(-1), stamp), (time.GetUtcNow(), time.GetTimestamp()));
    }

    [Fact]
    public void Timers_run_in_the_order_of_their_due_times_and_see_the_time_they_were_due_at()
    {
        var time = new ManualTimeProvider();
        var seen = new List<(string Name, double Seconds)>();
        TimerCallback record = name => seen.Add(((string)name!, time.Elapsed.TotalSeconds));
        using var late = time.CreateTimer(record, "late", TimeSpan.FromSeconds(3), Timeout.InfiniteTimeSpan);
        using var soon = time.CreateTimer(record, "soon", TimeSpan.FromSeconds(1), Timeout.InfiniteTimeSpan);
        using var often = time.CreateTimer(record, "often", TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(2));
        using var never = time.CreateTimer(record, "never", Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        Assert.Equal(3, time.ArmedTimers.Value);
        time.Advance(TimeSpan.FromSeconds(6));
        Assert.Equal([("soon", 1), ("often", 2), ("late", 3), ("often", 4), ("often", 6)], seen);
        Assert.Equal(1, time.ArmedTimers.Value);
    }

    [Fact]
    public void After_a_jump_the_timers_see_its_end()
    {
        var time = new ManualTimeProvider();
        var seen = new List<double>();
        using var timer = time.CreateTimer(
            _ => seen.Add(time.Elapsed.TotalSeconds), null, TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(2));
        time.Jump(TimeSpan.FromSeconds(5));
        time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal([5, 5, 6], seen);
    }

    [Fact]
    public void A_timer_is_not_due_before_its_time_nor_after_it_was_changed_or_disposed()
    {
        var time = new ManualTimeProvider();
        var fired = 0;
        var timer = time.CreateTimer(_ => fired++, null, TimeSpan.FromSeconds(1), Timeout.InfiniteTimeSpan);
        time.Advance(TimeSpan.FromSeconds(1) - TimeSpan.FromTicks(1));
        Assert.Equal(0, fired);
        Assert.True(timer.Change(TimeSpan.FromSeconds(10), Timeout.InfiniteTimeSpan));
        time.Advance(TimeSpan.FromSeconds(9));
        Assert.Equal(0, fired);
        time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(1, fired);
        timer.Change(TimeSpan.FromSeconds(1), Timeout.InfiniteTimeSpan);
        timer.Dispose();
        time.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal(1, fired);
        Assert.False(timer.Change(TimeSpan.Zero, Timeout.InfiniteTimeSpan));
        Assert.Equal(0, time.ArmedTimers.Value);
    }

    [Fact]
    public void A_callback_may_set_a_timer_that_is_due_in_the_same_advance()
    {
        var time = new ManualTimeProvider();
        var chain = new List<double>();
        ITimer? timer = null;
        timer = time.CreateTimer(
            _ =>
            {
                chain.Add(time.Elapsed.TotalSeconds);
                timer!.Change(TimeSpan.FromSeconds(1), Timeout.InfiniteTimeSpan);
            },
            null, TimeSpan.FromSeconds(1), Timeout.InfiniteTimeSpan);
        time.Advance(TimeSpan.FromSeconds(3));
        Assert.Equal([1, 2, 3], chain);
        timer.Dispose();
    }

    [Fact]
    public async Task Delays_and_timeouts_of_the_framework_follow_the_clock()
    {
        var time = new ManualTimeProvider();
        using var cancel = new CancellationTokenSource(TimeSpan.FromSeconds(20), time);
        var wait = new TaskCompletionSource().Task.WaitAsync(TimeSpan.FromSeconds(10), time);
        Assert.Equal(2, time.ArmedTimers.Value);
        time.Advance(TimeSpan.FromSeconds(10));
        await Assert.ThrowsAsync<TimeoutException>(() => wait);
        Assert.False(cancel.IsCancellationRequested);
        time.Advance(TimeSpan.FromSeconds(10));
        Assert.True(cancel.IsCancellationRequested);
    }

    [Fact]
    public async Task A_test_can_wait_until_the_code_under_test_has_set_its_timer()
    {
        var time = new ManualTimeProvider();
        using var ticker = new PeriodicTimer(TimeSpan.FromSeconds(1), time);
        var ticks = new AsyncCounter("ticks");
        var loop = Task.Run(async () =>
        {
            while (await ticker.WaitForNextTickAsync())
            {
                ticks.Increment();
            }
        });
        await time.ArmedTimers.WaitForAsync(1);
        time.Advance(TimeSpan.FromSeconds(1));
        await ticks.WaitForAsync(1);
        ticker.Dispose();
        await loop;
    }

    [Fact]
    public async Task A_timer_that_is_due_at_once_needs_no_advance()
    {
        var time = new ManualTimeProvider();
        var fired = new WaitSignal("fired");
        using var timer = time.CreateTimer(_ => fired.Set(), null, TimeSpan.Zero, Timeout.InfiniteTimeSpan);
        await fired.WaitAsync();
        Assert.Equal(TimeSpan.Zero, time.Elapsed);
    }

    [Fact]
    public async Task Advances_of_several_threads_add_up_and_fire_each_timer_once()
    {
        var time = new ManualTimeProvider();
        var fired = new int[500];
        var timers = Enumerable.Range(0, fired.Length)
            .Select(i => time.CreateTimer(
                _ => Interlocked.Increment(ref fired[i]), null, TimeSpan.FromMilliseconds(i + 1), Timeout.InfiniteTimeSpan))
            .ToList();
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            for (var i = 0; i < 200; i++)
            {
                time.Advance(TimeSpan.FromMilliseconds(1));
            }
        })));
        Assert.Equal(TimeSpan.FromMilliseconds(800), time.Elapsed);
        Assert.All(fired, count => Assert.Equal(1, count));
        timers.ForEach(timer => timer.Dispose());
    }

    [Fact]
    public async Task One_that_skips_waits_is_at_the_end_of_each_as_soon_as_it_begins()
    {
        var time = new ManualTimeProvider { SkipsWaits = true };

        foreach (var hours in new[] { 3, 1 })
        {
            await Assert.ThrowsAsync<TimeoutException>(() => new TaskCompletionSource().Task.WaitAsync(TimeSpan.FromHours(hours), time));
        }

        Assert.Equal(TimeSpan.FromHours(4), time.Elapsed);
    }
}
