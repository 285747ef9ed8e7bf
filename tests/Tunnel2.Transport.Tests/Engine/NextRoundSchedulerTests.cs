using System.Collections.Concurrent;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests.Engine;

public sealed class NextRoundSchedulerTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly NextRoundScheduler _scheduler = new();

    public void Dispose() => _scheduler.Dispose();

    [Fact]
    public async Task Work_runs_once_and_in_the_order_it_came()
    {
        var order = new ConcurrentQueue<int>();
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

        // Queued from within a piece of work, all of it belongs to one later round.
        _scheduler.Schedule(_ =>
        {
            for (var i = 0; i < 1000; i++)
            {
                _scheduler.Schedule(number => order.Enqueue((int)number!), i);
            }

            _scheduler.Schedule(_ => done.SetResult(), null);
        }, null);
        await done.Task.WaitAsync(_limit);
        Assert.Equal(Enumerable.Range(0, 1000), order);
    }

    [Fact]
    public async Task What_work_schedules_runs_in_a_later_round()
    {
        using var depth = new ThreadLocal<int>();
        var deepest = 0;
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var rounds = 0;
        _scheduler.Schedule(Again, null);
        await done.Task.WaitAsync(_limit);
        Assert.Equal(1, deepest);

        void Again(object? state)
        {
            depth.Value++;
            deepest = Math.Max(deepest, depth.Value);
            var last = ++rounds == 2000;
            if (!last)
            {
                _scheduler.Schedule(Again, null);
            }

            depth.Value--;
            if (last)
            {
                done.SetResult();
            }
        }
    }

    [Fact]
    public async Task Work_may_come_from_many_threads()
    {
        const int Threads = 8;
        const int Each = 20_000;
        var ran = new int[Threads * Each];
        var left = Threads * Each;
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Task.WhenAll(Enumerable.Range(0, Threads).Select(thread => Task.Run(() =>
        {
            for (var i = 0; i < Each; i++)
            {
                _scheduler.Schedule(Run, (thread * Each) + i);
            }
        }))).WaitAsync(_limit);
        await done.Task.WaitAsync(_limit);
        Assert.All(ran, count => Assert.Equal(1, count));

        void Run(object? number)
        {
            Interlocked.Increment(ref ran[(int)number!]);
            if (Interlocked.Decrement(ref left) == 0)
            {
                done.SetResult();
            }
        }
    }

    [Fact]
    public async Task A_wake_that_came_while_others_ran_is_not_lost()
    {
        for (var i = 0; i < 3000; i++)
        {
            var done = new TaskCompletionSource();
            _scheduler.Schedule(static state => ((TaskCompletionSource)state!).SetResult(), done);
            await done.Task.WaitAsync(_limit);
        }
    }

    [Fact]
    public async Task Work_that_throws_is_counted_and_the_rest_of_it_runs()
    {
        var faults = new ContainedFaults();
        using var scheduler = new NextRoundScheduler(faults);
        for (var i = 1; i <= 10; i++)
        {
            var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            scheduler.Schedule(_ =>
            {
                // Both belong to one later round.
                scheduler.Schedule(static _ => throw new InvalidTimeZoneException(), null);
                scheduler.Schedule(_ => done.SetResult(), null);
            }, null);
            await done.Task.WaitAsync(_limit);
            Assert.Equal(i, faults.Count);
        }
    }

    [Fact]
    public async Task Behind_dispose_work_still_runs()
    {
        var before = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var behind = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _scheduler.Schedule(_ => before.SetResult(), null);
        _scheduler.Dispose();
        _scheduler.Schedule(_ => behind.SetResult(), null);
        await before.Task.WaitAsync(_limit);
        await behind.Task.WaitAsync(_limit);
    }

    [Fact]
    public async Task Whatever_is_scheduled_around_dispose_runs_once()
    {
        for (var round = 0; round < 50; round++)
        {
            var scheduler = new NextRoundScheduler();
            var left = 400;
            var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            var scheduling = Task.Run(() =>
            {
                for (var i = 0; i < 400; i++)
                {
                    scheduler.Schedule(_ =>
                    {
                        if (Interlocked.Decrement(ref left) == 0)
                        {
                            done.SetResult();
                        }
                    }, null);
                }
            });
            if (round % 2 == 0)
            {
                await Task.Yield();
            }

            scheduler.Dispose();
            await scheduling.WaitAsync(_limit);
            await done.Task.WaitAsync(_limit);
            Assert.Equal(0, left);
        }
    }
}
