namespace Tunnel2.ProxyEntry.Cluster.Tests.Limits;

/// <summary>Limits of a few requests a second: each request is a large part of them.</summary>
public sealed class SmallLimitModelTests
{
    private const int Second = ShareWorld.Second;
    private const int Histories = 100;

    [Theory]
    [InlineData(5, 3)]
    [InlineData(5, 6)]
    [InlineData(10, 4)]
    public void One_node_with_all_visitors_has_the_whole_limit_within_three_seconds(int rate, int nodes)
    {
        var random = new Random((100 * rate) + nodes);
        for (var i = 0; i < Histories; i++)
        {
            var world = new ShareWorld(random.Next(), rate, rate, nodes) { Demands = Only(0, 2 * rate, nodes), Lost = 0.05 };
            world.Run(30);
            AssertSum(world, 3, 30, rate, nodes);

            // They move to another node all at once.
            world.Demands = Only(nodes - 1, 2 * rate, nodes);
            world.Run(30);
            AssertSum(world, 33, 60, rate, nodes);
        }
    }

    [Theory]
    [InlineData(5, 3)]
    [InlineData(10, 3)]
    [InlineData(20, 5)]
    public void Visitors_who_come_now_and_then_take_little_from_a_node_that_is_busy(int rate, int nodes)
    {
        var random = new Random((100 * rate) + nodes);
        for (var i = 0; i < Histories; i++)
        {
            var demands = Enumerable.Repeat(0.05 * rate / nodes, nodes).ToArray();
            demands[0] = 2 * rate;
            var world = new ShareWorld(random.Next(), rate, rate, nodes) { Demands = demands };
            world.Run(5);
            var before = world.SpentBy(0);
            world.Run(60);
            AssertSum(world, 5, 65, rate, nodes);
            Assert.InRange(world.SpentBy(0) - before, 0.85 * rate * 60, 1.05 * rate * 60);
        }
    }

    [Theory]
    [InlineData(1, 2)]
    [InlineData(3, 3)]
    [InlineData(5, 3)]
    [InlineData(10, 6)]
    [InlineData(20, 6)]
    public void No_more_than_the_limit_is_spent_wherever_visitors_come(int rate, int nodes)
    {
        var random = new Random((100 * rate) + nodes);
        for (var i = 0; i < Histories; i++)
        {
            var demands = Enumerable.Range(0, nodes).Select(_ => random.NextDouble()).ToArray();
            var total = rate * (1.5 + (3 * random.NextDouble()));
            var world = new ShareWorld(random.Next(), rate, rate, nodes)
            {
                Demands = [.. demands.Select(demand => demand / demands.Sum() * total)],
                Lost = 0.02,
            };
            world.Run(65);

            // How much less it may be is in docs/cluster.md.
            Assert.InRange(world.Windows(5 * Second, 10 * Second).Most, 1, (11.0 * rate) + nodes);
            Assert.InRange(world.Windows(5 * Second, 60 * Second).Most, 1, (1.08 * rate * 60) + nodes);
        }
    }

    private static double[] Only(int node, double demand, int nodes) =>
        [.. Enumerable.Range(0, nodes).Select(i => i == node ? demand : 0)];

    /// <summary>Within a tenth in every ten seconds, but for whole requests, one at each node; and closer over a longer time.</summary>
    private static void AssertSum(ShareWorld world, int from, int to, int rate, int nodes)
    {
        var (least, most) = world.Windows(from * Second, 10 * Second, to * Second);
        Assert.InRange(least, (9.0 * rate) - nodes, 11.0 * rate);
        Assert.InRange(most, 9.0 * rate, (11.0 * rate) + nodes);
        var length = (to - from) * Second;
        var all = world.Windows(from * Second, length, to * Second).Least;
        Assert.InRange(all, (0.92 * rate * (to - from)) - nodes, (1.08 * rate * (to - from)) + nodes);
    }
}
