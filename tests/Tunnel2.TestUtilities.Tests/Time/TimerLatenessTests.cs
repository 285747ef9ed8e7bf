namespace Tunnel2.TestUtilities.Tests.Time;

/// <summary>Holds the thread pool up, so nothing else may run beside it.</summary>
[CollectionDefinition(nameof(TimerLatenessTests), DisableParallelization = true)]
[Collection(nameof(TimerLatenessTests))]
public sealed class TimerLatenessTests
{
    [Fact]
    public async Task A_pool_that_is_held_up_makes_timers_late()
    {
        await using var lateness = TimerLateness.Watch();
        ThreadPool.GetMaxThreads(out var workers, out var completions);
        ThreadPool.GetMinThreads(out var least, out _);
        using var release = new ManualResetEventSlim();
        Assert.True(ThreadPool.SetMaxThreads(least, completions));
        try
        {
            var held = Enumerable.Range(0, least * 2).Select(_ => Task.Run(() => release.Wait(TimeSpan.FromMilliseconds(300)))).ToArray();
            await Task.WhenAll(held);
        }
        finally
        {
            ThreadPool.SetMaxThreads(workers, completions);
        }

        await WaitSignal.UntilAsync(() => lateness.Longest > TimeSpan.FromMilliseconds(150), "the ticks were seen to be late");
        Assert.InRange(lateness.Longest, TimeSpan.FromMilliseconds(150), TimeSpan.FromMinutes(1));
    }
}
