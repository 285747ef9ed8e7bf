using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Epoll;

public sealed class EpollLoopTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();

    public void Dispose() => _loop.Dispose();

    [Fact]
    public async Task Work_from_any_thread_runs_on_the_loops_own()
    {
        var threads = await Task.WhenAll(Enumerable.Range(0, 200).Select(_ => Task.Run(() =>
        {
            var ran = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            _loop.Schedule(_ => ran.SetResult(_loop.IsCurrent ? Environment.CurrentManagedThreadId : -1), null);
            return ran.Task;
        }))).WaitAsync(_limit);
        Assert.Single(threads.Distinct());
        Assert.NotEqual(-1, threads[0]);
        Assert.False(_loop.IsCurrent);
    }

    [Fact]
    public async Task Work_runs_in_the_order_in_which_one_thread_scheduled_it()
    {
        var order = new List<int>();
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        for (var i = 0; i < 1000; i++)
        {
            _loop.Schedule(static state => ((List<int>)((object[])state!)[0]).Add((int)((object[])state)[1]), new object[] { order, i });
        }

        _loop.Schedule(_ => done.SetResult(), null);
        await done.Task.WaitAsync(_limit);
        Assert.Equal(Enumerable.Range(0, 1000), order);
    }

    [Fact]
    public async Task What_scheduled_work_schedules_runs_in_a_later_round()
    {
        var done = new TaskCompletionSource<(long Before, long After)>(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Schedule(_ =>
        {
            var before = _loop.Statistics.Rounds;
            _loop.Schedule(_ => done.SetResult((before, _loop.Statistics.Rounds)), null);
        }, null);
        var (before, after) = await done.Task.WaitAsync(_limit);
        Assert.True(after > before);
    }

    [Fact]
    public async Task Posts_that_race_with_the_loops_falling_asleep_are_never_lost()
    {
        // One after the other, each after the end of the one before: the loop falls asleep between them, or is about to.
        for (var i = 0; i < 20_000; i++)
        {
            var ran = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _loop.Schedule(static state => ((TaskCompletionSource)state!).SetResult(), ran);
            await ran.Task.WaitAsync(_limit);
        }
    }

    [Fact]
    public async Task Behind_its_end_work_runs_on_the_pool()
    {
        _loop.Dispose();
        var ran = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Schedule(_ => ran.SetResult(Thread.CurrentThread.IsThreadPoolThread), null);
        Assert.True(await ran.Task.WaitAsync(_limit));
        _loop.Dispose();
    }

    [Fact]
    public async Task Its_end_fails_what_waits()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var transport = EpollChannel.AdoptUplink(_loop, left);
            var receiving = transport.ReceiveAsync(new byte[10]).AsTask();
            _loop.Dispose();
            await Assert.ThrowsAsync<IOException>(() => receiving.WaitAsync(_limit));
            Assert.Equal(0, _loop.HandleCount);
        }
    }
}
