namespace Tunnel2.TestUtilities.Tests.Signals;

public sealed class WaitSignalTests
{
    [Fact]
    public async Task Setting_releases_present_and_later_waiters()
    {
        var signal = new WaitSignal("done");
        var wait = signal.WaitAsync();
        Assert.False(wait.IsCompleted);
        signal.Set();
        await wait;
        await signal.WaitAsync(TimeSpan.Zero);
        Assert.True(signal.IsSet);
    }

    [Fact]
    public async Task After_a_reset_waits_wait_again()
    {
        var signal = new WaitSignal("done");
        signal.Set();
        signal.Reset();
        Assert.False(signal.IsSet);
        var e = await Assert.ThrowsAsync<TimeoutException>(() => signal.WaitAsync(TimeSpan.FromMilliseconds(20)));
        Assert.Contains("'done'", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_failure_reaches_the_waiter()
    {
        var signal = new WaitSignal("done");
        signal.Fail(new InvalidDataException("broken"));
        await Assert.ThrowsAsync<InvalidDataException>(() => signal.WaitAsync());
    }

    [Fact]
    public async Task Polling_ends_when_the_condition_holds_and_fails_with_its_description()
    {
        var asked = 0;
        await WaitSignal.UntilAsync(() => ++asked == 3, "it was asked three times");
        Assert.Equal(3, asked);
        var e = await Assert.ThrowsAsync<TimeoutException>(
            () => WaitSignal.UntilAsync(() => false, "pigs fly", TimeSpan.FromMilliseconds(20)));
        Assert.Contains("until pigs fly", e.Message, StringComparison.Ordinal);
    }
}
