using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

public sealed class EmptyFrameBudgetTests
{
    private readonly ManualTimeProvider _time = new();
    private EmptyFrameBudget _budget = new(EmptyFrameBudget.Burst, EmptyFrameBudget.PerSecond);

    [Fact]
    public void A_burst_passes_and_one_more_does_not()
    {
        Assert.Equal(EmptyFrameBudget.Burst, Take(EmptyFrameBudget.Burst));
        Assert.Equal(0, Take(1));
    }

    [Theory]
    [InlineData(2)]
    [InlineData(9)]
    public void Time_gives_back_as_many_as_a_second_may_have(int seconds)
    {
        Take(EmptyFrameBudget.Burst);
        _time.Advance(TimeSpan.FromSeconds(seconds));
        Assert.Equal(seconds * EmptyFrameBudget.PerSecond, Take(EmptyFrameBudget.Burst));
    }

    [Fact]
    public void A_long_silence_is_worth_one_burst()
    {
        Take(EmptyFrameBudget.Burst);
        _time.Advance(TimeSpan.FromHours(1));
        Assert.Equal(EmptyFrameBudget.Burst, Take(2 * EmptyFrameBudget.Burst));
    }

    [Fact]
    public void At_the_rate_of_the_long_run_it_lasts_for_ever()
    {
        for (var second = 0; second < 100; second++)
        {
            Assert.Equal(EmptyFrameBudget.PerSecond, Take(EmptyFrameBudget.PerSecond));
            _time.Advance(TimeSpan.FromSeconds(1));
        }
    }

    private int Take(int count)
    {
        var taken = 0;
        while (taken < count && _budget.TryTake(_time))
        {
            taken++;
        }

        return taken;
    }
}
