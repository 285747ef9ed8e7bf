using Tunnel2.ProxyEntry.Tracing;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Tracing;

public sealed class TraceBudgetTests
{
    private readonly ManualTimeProvider _time = new();

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(1000)]
    public void A_second_is_there_at_once_and_then_each_as_it_is_earned(int perSecond)
    {
        var budget = new TraceBudget(perSecond, _time);
        Assert.Equal(perSecond, TakeAll(budget));
        var taken = 0;
        for (var i = 0; i < 10_000; i++)
        {
            _time.Advance(TimeSpan.FromMilliseconds(1));
            taken += TakeAll(budget);
        }

        Assert.InRange(taken, (10 * perSecond) - 1, 10 * perSecond);
    }

    [Fact]
    public void Of_a_flood_some_are_taken_all_the_time()
    {
        var budget = new TraceBudget(100, _time);
        TakeAll(budget);
        for (var i = 0; i < 200; i++)
        {
            _time.Advance(TimeSpan.FromMilliseconds(10));
            Assert.Equal(1, TakeAll(budget));
        }
    }

    [Fact]
    public void What_was_not_used_is_kept_for_a_second_and_no_longer()
    {
        var budget = new TraceBudget(100, _time);
        TakeAll(budget);
        _time.Advance(TimeSpan.FromMilliseconds(500));
        Assert.Equal(50, TakeAll(budget));
        _time.Advance(TimeSpan.FromHours(1));
        Assert.Equal(100, TakeAll(budget));
    }

    [Fact]
    public async Task Threads_together_get_no_more_than_one_would()
    {
        var budget = new TraceBudget(1000, _time);
        var now = _time.GetTimestamp();
        var taken = 0;
        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            for (var i = 0; i < 1000; i++)
            {
                if (budget.TryTake(now))
                {
                    Interlocked.Increment(ref taken);
                }
            }
        })));
        Assert.Equal(1000, taken);
    }

    private int TakeAll(TraceBudget budget)
    {
        var taken = 0;
        while (budget.TryTake(_time.GetTimestamp()))
        {
            taken++;
        }

        return taken;
    }
}
