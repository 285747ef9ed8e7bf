using System.IO.Pipelines;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Tests.InMemory;

namespace Tunnel2.Client.Tests.Backend;

public sealed class IdleListTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    public void What_leaves_is_in_no_list_and_keeps_no_neighbour(int leaving)
    {
        var list = new IdleList();
        var all = Enumerable.Range(0, 3).Select(static _ => Connect()).ToList();
        all.ForEach(list.Add);
        Assert.All(all, one => Assert.Same(list, one.List));

        list.Remove(all[leaving]);
        var left = all[leaving];
        Assert.Equal((null, null, null), (left.List, left.Older, left.Younger));

        all.RemoveAt(leaving);
        Assert.Equal((2, all[0], all[1]), (list.Count, list.Oldest, list.Youngest));
        Assert.Equal((null, all[1]), (all[0].Older, all[0].Younger));
        Assert.Equal((all[0], null), (all[1].Older, all[1].Younger));
    }

    [Fact]
    public void The_last_leaves_nothing_and_may_come_again()
    {
        var list = new IdleList();
        var only = Connect();
        for (var i = 0; i < 2; i++)
        {
            list.Add(only);
            Assert.Equal((1, only, only), (list.Count, list.Oldest, list.Youngest));
            list.Remove(only);
            Assert.Equal((0, null, null), (list.Count, list.Oldest, list.Youngest));
        }
    }

    private static BackendConnection Connect() =>
        new(new BackendTransport(InMemoryTransport.CreatePair(1024, PipeScheduler.Inline).Left), new BufferPool());
}
