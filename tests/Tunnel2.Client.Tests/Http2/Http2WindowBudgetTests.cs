using Tunnel2.Client.Core.Http2;

namespace Tunnel2.Client.Tests.Http2;

public sealed class Http2WindowBudgetTests
{
    [Fact]
    public void No_more_is_taken_than_there_is_and_what_comes_back_is_there_again()
    {
        var budget = new Http2WindowBudget(100);
        Assert.True(budget.TryTake(60));
        Assert.False(budget.TryTake(41));
        Assert.True(budget.TryTake(40));
        Assert.False(budget.TryTake(1));
        budget.Return(60);
        Assert.True(budget.TryTake(60));
    }
}
