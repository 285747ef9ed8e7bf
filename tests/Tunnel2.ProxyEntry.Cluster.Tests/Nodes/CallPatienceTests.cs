using Tunnel2.ProxyEntry.Cluster.Nodes;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Nodes;

public sealed class CallPatienceTests
{
    private static readonly TimeSpan _least = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan _most = TimeSpan.FromMilliseconds(500);

    [Fact]
    public void It_follows_what_calls_take_within_its_bounds()
    {
        var patience = new CallPatience(_least, _most);
        Assert.Equal(_most, patience.Next);
        for (var i = 0; i < 50; i++)
        {
            patience.Took(TimeSpan.FromMilliseconds(5));
        }

        Assert.Equal(_least, patience.Next);
        for (var i = 0; i < 50; i++)
        {
            patience.Took(TimeSpan.FromMilliseconds(200));
        }

        Assert.InRange(patience.Next, TimeSpan.FromMilliseconds(200), TimeSpan.FromMilliseconds(260));
        patience.Took(TimeSpan.FromSeconds(9));
        Assert.Equal(_most, patience.Next);
    }

    [Fact]
    public void While_calls_are_lost_it_doubles_until_one_comes_back()
    {
        var patience = new CallPatience(_least, _most);
        for (var i = 0; i < 50; i++)
        {
            patience.Took(TimeSpan.FromMilliseconds(60));
        }

        patience.Lost();
        Assert.InRange(patience.Next, TimeSpan.FromMilliseconds(110), TimeSpan.FromMilliseconds(150));
        for (var i = 0; i < 100; i++)
        {
            patience.Lost();
        }

        Assert.Equal(_most, patience.Next);
        patience.Took(TimeSpan.FromMilliseconds(60));
        Assert.Equal(_least, patience.Next);
    }
}
