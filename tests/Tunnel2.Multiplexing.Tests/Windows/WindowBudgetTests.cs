using Tunnel2.Multiplexing.Windows;

namespace Tunnel2.Multiplexing.Tests.Windows;

public sealed class WindowBudgetTests
{
    [Fact]
    public void It_gives_all_of_a_wish_or_nothing()
    {
        var budget = new WindowBudget(100);
        Assert.True(budget.TryTake(60));
        Assert.False(budget.TryTake(41));
        Assert.True(budget.TryTake(40));
        Assert.False(budget.TryTake(1));
        budget.Return(40);
        Assert.Equal(60, budget.Taken);
        Assert.True(budget.TryTake(1));
    }

    [Fact]
    public void A_part_asks_the_whole_and_takes_nothing_where_that_refuses()
    {
        var whole = new WindowBudget(100);
        var (first, second) = (new WindowBudget(80, whole), new WindowBudget(80, whole));
        Assert.True(first.TryTake(80));
        Assert.False(second.TryTake(21));
        Assert.Equal((80L, 0L, 80L), (first.Taken, second.Taken, whole.Taken));
        Assert.True(second.TryTake(20));
        Assert.False(first.TryTake(1));
        first.Return(80);
        Assert.Equal((0L, 20L, 20L), (first.Taken, second.Taken, whole.Taken));
    }

    [Fact]
    public void What_a_process_shares_by_default_is_256_MiB()
    {
        const int Limit = 256 * 1024 * 1024;
        Assert.True(WindowBudget.Process.TryTake(Limit));
        Assert.False(WindowBudget.Process.TryTake(1));
        WindowBudget.Process.Return(Limit);
        Assert.Equal(0, WindowBudget.Process.Taken);
    }
}
