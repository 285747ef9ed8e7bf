namespace Tunnel2.ProxyEntry.Cluster.Tests.Limits;

/// <summary>What all nodes together spend of a limit that they share, over many drawn histories.</summary>
public sealed class SharedLimitModelTests
{
    private static readonly int[] _rates = [40, 100, 500, 2000];

    public static TheoryData<int> Seeds => [.. Enumerable.Range(1, 60)];

    [Theory]
    [MemberData(nameof(Seeds))]
    public void Demand_that_moves_gets_the_limit_within_a_tenth_over_ten_seconds_and_never_half_as_much_more(int seed)
    {
        var (world, rate, nodes) = Play(seed, lost: 0);
        var (least, most) = Assess(world, rate, nodes);

        // What comes in whole requests may differ by one at each node, at both ends.
        Assert.InRange(least, (9.0 * rate) - (2 * nodes), 11.0 * rate);
        Assert.InRange(most, 9.0 * rate, (11.0 * rate) + nodes);
    }

    [Theory]
    [MemberData(nameof(Seeds))]
    public void Reports_that_are_lost_delay_what_moves_and_never_add_to_it(int seed)
    {
        // One call in ten is lost, or its answer. Where several are lost just when visitors move, more is missing than a tenth.
        var (world, rate, nodes) = Play(seed, lost: 0.05);
        var (least, most) = Assess(world, rate, nodes);
        Assert.InRange(least, (8.0 * rate) - (2 * nodes), 11.0 * rate);
        Assert.InRange(most, 9.0 * rate, (11.0 * rate) + nodes);
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(5)]
    public void Without_the_database_nodes_keep_their_shares_and_then_have_equal_parts(int nodes)
    {
        const int Rate = 500;
        var world = new ShareWorld(nodes, Rate, Rate, nodes) { Demands = [4 * Rate, Rate] };
        world.Run(15);
        Assert.InRange(world.ShareOf(0), 0.7, 0.85);
        Assert.InRange(world.ShareOf(1), 0.15, 0.3);
        world.IsDown = true;
        world.Demands = [Rate, 4 * Rate];
        world.Run(2);
        Assert.InRange(world.ShareOf(0), 0.7, 0.85);
        world.Run(13);
        Assert.InRange(world.ShareOf(0), 0.99 / nodes, 1.01 / nodes);
        Assert.InRange(world.ShareOf(1), 0.99 / nodes, 1.01 / nodes);
        world.IsDown = false;
        world.Run(15);
        Assert.InRange(world.ShareOf(0), 0.15, 0.3);
        Assert.InRange(world.ShareOf(1), 0.7, 0.85);
        var (_, most) = world.Windows(2 * ShareWorld.Second, ShareWorld.Second);
        Assert.InRange(most, Rate, (1.5 * Rate) + (2 * nodes));
        Assert.InRange(world.Windows(2 * ShareWorld.Second, 10 * ShareWorld.Second).Most, 9 * Rate, 11 * Rate);
    }

    [Fact]
    public void All_may_be_at_one_node_after_a_pause()
    {
        const int Rate = 100;
        var world = new ShareWorld(1, Rate, Rate, 3) { Demands = [0, 0, 2 * Rate] };
        world.Run(12);
        Assert.InRange(world.ShareOf(2), 0.95, 1);
        world.Demands = [];
        world.Run(20);
        Assert.InRange(world.Shares, 0.01, 0.1);
        world.Demands = [2 * Rate];
        world.Run(3);
        Assert.InRange(world.ShareOf(0), 0.95, 1);
        Assert.InRange(world.Windows(33 * ShareWorld.Second, 2 * ShareWorld.Second).Least, 1.8 * Rate, 2.2 * Rate);
    }

    private static (ShareWorld World, int Rate, int Nodes) Play(int seed, double lost)
    {
        var random = new Random(seed);
        var (rate, nodes) = (_rates[seed % 4], random.Next(2, 7));
        var world = new ShareWorld(seed, rate, random.Next(rate / 2, rate + 1), nodes) { Lost = lost };
        for (var phase = 0; phase < 5; phase++)
        {
            world.Demands = Draw(random, nodes, rate * (1.5 + (3 * random.NextDouble())));
            world.Run(10 + (5 * random.NextDouble()));
        }

        return (world, rate, nodes);
    }

    /// <summary>A moment to begin, then the promise holds everywhere.</summary>
    private static (int Least, int Most) Assess(ShareWorld world, int rate, int nodes)
    {
        var (least, most) = world.Windows(2 * ShareWorld.Second, 10 * ShareWorld.Second);
        var atOnce = world.Windows(2 * ShareWorld.Second, ShareWorld.Second).Most;
        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{nodes} nodes, {rate}/s: {least / (10.0 * rate):P1} to {most / (10.0 * rate):P1} over 10 s, "
            + $"{atOnce / (double)rate:P1} at once");
        Assert.InRange(atOnce, 1, (1.5 * rate) + (2 * nodes));
        return (least, most);
    }

    private static double[] Draw(Random random, int nodes, double total)
    {
        // Some have nothing, and often one has all.
        var parts = Enumerable.Range(0, nodes).Select(_ => random.Next(3) == 0 ? random.NextDouble() : 0).ToArray();
        if (parts.Sum() == 0)
        {
            parts[random.Next(nodes)] = 1;
        }

        return [.. parts.Select(part => part / parts.Sum() * total)];
    }
}
