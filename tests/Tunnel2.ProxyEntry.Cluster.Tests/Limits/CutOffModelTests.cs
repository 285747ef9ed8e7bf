using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Limits;

/// <summary>What all nodes spend together while some are cut off from the database, die, come or go.</summary>
public sealed class CutOffModelTests
{
    private const int Rate = 500;
    private const int Burst = 50;
    private const int Second = ShareWorld.Second;

    [Theory]
    [InlineData(2, 1)]
    [InlineData(3, 1)]
    [InlineData(3, 2)]
    [InlineData(4, 1)]
    [InlineData(4, 3)]
    public void The_part_of_nodes_that_are_cut_off_is_kept_for_them(int nodes, int cut)
    {
        var world = new ShareWorld(nodes, Rate, Rate, nodes) { Demands = [.. Enumerable.Repeat(2.0 * Rate, nodes)] };
        world.Run(10);
        world.CutOff.UnionWith(Enumerable.Range(0, cut));

        // Until their leases are over, 8 s later.
        world.Run(7.5);
        for (var i = 0; i < nodes; i++)
        {
            // The others divide theirs as always.
            Assert.InRange(world.ShareOf(i), (i < cut ? 0.99 : 0.7) / nodes, (i < cut ? 1.01 : 1.3) / nodes);
        }

        Assert.InRange(world.Shares, 0.97, 1.03);
        Assert.InRange(world.Windows(10 * Second, 7 * Second, (int)(17.5 * Second)).Most, 6.5 * Rate, 7.7 * Rate);

        // Then they may be dead, and the others have what they may have: with an equal part for each that lives it is no more than this.
        world.Run(52.5);
        Assert.All(Enumerable.Range(0, cut), i => Assert.InRange(world.ShareOf(i), 0.99 / nodes, 1.01 / nodes));
        var others = Math.Min(1, TierShares.Most - ((double)cut / nodes));
        Assert.InRange(world.Shares - ((double)cut / nodes), others - 0.03, others + 0.001);
        world.CutOff.Clear();
        world.Demands = [2 * Rate];
        world.Run(5);
        Assert.InRange(world.ShareOf(0), 0.9, 1);
        AssertNeverTooMuch(world, nodes);
    }

    [Theory]
    [InlineData(2, 1, 0.95)]
    [InlineData(3, 1, 1)]
    [InlineData(4, 2, 0.95)]
    [InlineData(6, 3, 0.95)]
    [InlineData(3, 2, 0.78)]
    [InlineData(4, 3, 0.7)]
    public void The_part_of_nodes_that_died_is_free_when_their_leases_are_over(int nodes, int dead, double left)
    {
        var world = new ShareWorld(nodes, Rate, Rate, nodes)
        {
            Demands = [.. Enumerable.Range(0, nodes).Select(i => i < dead ? 0 : 2.0 * Rate)],
        };
        world.Run(10);
        for (var i = 0; i < dead; i++)
        {
            world.Kill(i);
        }

        world.Run(11);
        var (begin, demands) = (21 * Second, world.Demands);
        world.Run(10);
        Assert.InRange(world.Windows(begin, 10 * Second).Least, 0.95 * left * 10 * Rate, 10.5 * Rate);

        // Also where visitors move.
        world.Demands = [.. demands.Select((demand, i) => i == nodes - 1 ? demand : 0)];
        world.Run(12);
        Assert.InRange(world.ShareOf(nodes - 1), left - 0.1, 1);
        world.Demands = [.. demands.Select((demand, i) => i == dead ? demand : 0)];
        world.Run(12);
        Assert.InRange(world.ShareOf(dead), left - 0.1, 1);
        AssertNeverTooMuch(world, nodes);
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(5)]
    public void After_an_outage_no_node_is_lost_because_it_comes_back_later_than_another_one(int nodes) => SeededRandom.Run(random =>
    {
        for (var i = 0; i < 10; i++)
        {
            var world = new ShareWorld(random.Next(), Rate, Burst, nodes)
            {
                Demands = [.. Enumerable.Repeat(2.0 * Rate, nodes)],
                Wait = 6,
            };
            world.Run(10);
            world.IsDown = true;
            world.Run(12 + (20 * random.NextDouble()));
            world.IsDown = false;
            world.Run(20);
            Assert.InRange(world.Windows(2 * Second, 10 * Second).Most, 9 * Rate, 11 * Rate);
            AssertNeverTooMuch(world, nodes, Burst);
        }
    });

    [Fact]
    public void A_node_that_had_all_keeps_it_for_a_moment_and_then_has_an_equal_part()
    {
        var world = new ShareWorld(3, Rate, Rate, 2) { Demands = [2 * Rate, 0] };
        world.Run(10);
        Assert.InRange(world.ShareOf(0), 0.95, 1);
        world.CutOff.Add(0);
        world.Demands = [2 * Rate, 2 * Rate];
        world.Run(3);
        Assert.InRange(world.ShareOf(0), 0.95, 1);
        world.Run(4.5);
        Assert.InRange(world.ShareOf(0), 0.49, 0.51);
        Assert.InRange(world.ShareOf(1), 0.49, 0.51);
        AssertNeverTooMuch(world, 2);
    }

    [Fact]
    public void A_node_without_visitors_that_is_cut_off_has_an_equal_part_too()
    {
        var world = new ShareWorld(4, Rate, Rate, 2) { Demands = [0, 2 * Rate] };
        world.Run(10);
        world.CutOff.Add(0);
        world.Run(7.5);
        Assert.InRange(world.ShareOf(1), 0.49, 0.51);

        // Its lease is over: it may be dead.
        world.Run(12.5);
        Assert.InRange(world.ShareOf(1), 0.94, 1);

        // It lives, and what it may have at once after a pause is its part of the burst.
        world.Demands = [2 * Rate, 2 * Rate];
        world.Run(20);
        Assert.InRange(world.ShareOf(0), 0.49, 0.51);
        Assert.InRange(world.ShareOf(1), 0.94, 1);
        Assert.InRange(world.Windows(32 * Second, Second).Most, Rate, (1.5 * Rate) + 4);
        AssertNeverTooMuch(world, 2, burst: Rate / 2);
    }

    [Theory]
    [InlineData(2, 1)]
    [InlineData(3, 2)]
    [InlineData(5, 4)]
    public void After_some_minutes_others_take_the_part_and_it_is_never_half_as_much_more(int nodes, int cut)
    {
        var world = new ShareWorld(nodes, Rate, Rate, nodes) { Demands = [.. Enumerable.Repeat(2.0 * Rate, nodes)] };
        world.Run(10);
        world.CutOff.UnionWith(Enumerable.Range(0, cut));
        world.Run(320);
        Assert.InRange(world.ShareOf(0), 0.49 / nodes, 0.51 / nodes);
        Assert.InRange(world.ShareOf(nodes - 1), 1 - (0.51 * cut / nodes), 1);
        Assert.InRange(world.Windows(2 * Second, Second).Most, Rate, (1.5 * Rate) + (2 * nodes));
    }

    [Fact]
    public void The_share_of_a_node_that_died_is_free_when_its_agents_are_elsewhere()
    {
        var world = new ShareWorld(5, Rate, Rate, 3) { Demands = [Rate, Rate, Rate] };
        world.Run(10);
        world.Kill(0);
        world.Demands = [0, 2 * Rate, 2 * Rate];
        world.Run(3);
        world.Move(0, hasSessions: false);
        world.Run(6);
        Assert.InRange(world.Shares - world.ShareOf(0), 0.95, 1.05);
        AssertNeverTooMuch(world, 3);
    }

    [Theory]
    [InlineData(3600)]
    [InlineData(-3600)]
    public void A_database_whose_clock_jumps_changes_little(int seconds)
    {
        const int Nodes = 3;
        var world = new ShareWorld(6, Rate, Rate, Nodes) { Demands = [Rate, Rate, Rate] };
        world.Run(10);
        world.Skew = TimeSpan.FromSeconds(seconds);
        world.Run(20);
        Assert.InRange(world.Windows(2 * Second, 10 * Second).Least, 9 * Rate, 11 * Rate);
        AssertNeverTooMuch(world, Nodes);
    }

    [Fact]
    public void In_any_history_the_sum_holds() => SeededRandom.Run(random =>
    {
        for (var i = 0; i < 40; i++)
        {
            var nodes = random.Next(2, 6);
            var world = new ShareWorld(random.Next(), Rate, Burst, nodes) { Lost = 0.02, Wait = random.Next(7) };
            var gone = new HashSet<int>();
            for (var phase = 0; phase < 8; phase++)
            {
                world.Demands = [.. Enumerable.Range(0, nodes).Select(_ => random.Next(3) * Rate * random.NextDouble())];
                Disturb(world, random, gone, random.Next(nodes));
                world.Run(4 + (12 * random.NextDouble()));
            }

            // Where visitors wanted less for a while, the tier allows its burst too.
            AssertNeverTooMuch(world, nodes, Burst);
        }
    });

    private static void Disturb(ShareWorld world, Random random, HashSet<int> gone, int node)
    {
        switch (random.Next(6))
        {
            case 0:
                world.CutOff.Add(node);
                break;
            case 1:
                world.CutOff.Clear();
                break;
            case 2:
                world.IsDown = !world.IsDown;
                break;
            case 3 when gone.Add(node):
                world.Kill(node);
                break;
            case 4 when gone.Contains(node):
                world.Move(node, hasSessions: false);
                break;
            default:
                world.IsDown = false;
                break;
        }
    }

    /// <summary>
    /// Not in one second; and not in ten, without what nodes have spent whose leases were over. Whole requests may differ by one or two at
    /// each node.
    /// </summary>
    private static void AssertNeverTooMuch(ShareWorld world, int nodes, int burst = 0)
    {
        var (atOnce, longer) = (world.Windows(2 * Second, Second).Most, world.Windows(2 * Second, 10 * Second, withLost: false).Most);
        TestContext.Current.TestOutputHelper?.WriteLine($"{nodes} nodes: {atOnce / (double)Rate:P1} at once, {longer / 10.0 / Rate:P1}");
        Assert.InRange(atOnce, 0, (1.5 * Rate) + burst + (2 * nodes));
        Assert.InRange(longer, 0, (11 * Rate) + burst + nodes);
    }
}
