namespace Tunnel2.TestUtilities.Tests.Signals;

public sealed class AsyncCounterTests
{
    [Fact]
    public async Task A_wait_ends_when_the_number_is_reached()
    {
        var counter = new AsyncCounter("things");
        var wait = counter.WaitForAsync(2);
        counter.Increment();
        Assert.False(wait.IsCompleted);
        counter.Increment();
        await wait;
        Assert.Equal(2, counter.Value);
    }

    [Fact]
    public async Task A_wait_for_what_is_already_true_ends_at_once()
    {
        var counter = new AsyncCounter("things", initialValue: 5);
        var wait = counter.WaitForAsync(5, TimeSpan.Zero);
        Assert.True(wait.IsCompletedSuccessfully);
        await wait;
    }

    [Fact]
    public async Task A_wait_that_times_out_says_what_it_waited_for_and_what_the_number_is()
    {
        var counter = new AsyncCounter("connections");
        counter.Increment();
        var e = await Assert.ThrowsAsync<TimeoutException>(() => counter.WaitForAsync(3, TimeSpan.FromMilliseconds(20)));
        Assert.Contains("'connections' to be at least 3; it is at 1", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_wait_that_is_cancelled_ends()
    {
        using var cancel = new CancellationTokenSource();
        var wait = new AsyncCounter("things").WaitForAsync(1, cancellationToken: cancel.Token);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => wait);
    }

    [Fact]
    public async Task What_follows_from_a_number_is_asked_again_when_it_changes_and_at_no_other_time()
    {
        var counter = new AsyncCounter("changes");
        var (asked, isTrue) = (new AsyncCounter("questions"), false);
        var wait = counter.UntilAsync(
            () =>
            {
                asked.Increment();
                return Volatile.Read(ref isTrue);
            },
            "it is true");
        Assert.Equal(1, asked.Value);
        counter.Increment();
        await asked.WaitForAsync(2);
        Assert.False(wait.IsCompleted);
        Volatile.Write(ref isTrue, true);
        counter.Increment();
        await wait;
        Assert.Equal(3, asked.Value);
    }

    [Fact]
    public async Task A_change_while_the_condition_is_asked_is_not_missed()
    {
        var counter = new AsyncCounter("changes");
        var asked = 0;
        await counter.UntilAsync(
            () =>
            {
                if (++asked == 1)
                {
                    counter.Increment();
                }

                return asked == 2;
            },
            "it was asked twice");
    }

    [Fact]
    public async Task A_condition_that_never_holds_is_named_when_the_time_is_over()
    {
        var counter = new AsyncCounter("changes", initialValue: 7);
        var e = await Assert.ThrowsAsync<TimeoutException>(
            () => counter.UntilAsync(static () => false, "pigs fly", TimeSpan.FromMilliseconds(20)));
        Assert.Contains("until pigs fly; it did not happen. 'changes' is at 7", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task No_increment_is_lost_between_threads()
    {
        var counter = new AsyncCounter("things");
        var wait = counter.WaitUntilAsync(value => value == 40_000, "all");
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            for (var i = 0; i < 10_000; i++)
            {
                counter.Increment();
            }
        })));
        await wait;
    }
}
