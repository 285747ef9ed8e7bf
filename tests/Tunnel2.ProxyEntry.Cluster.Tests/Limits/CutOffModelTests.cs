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
        world.Run(60);
        for (var i = 0; i < nodes; i++)
        {
            // The others divide theirs as always.
            Assert.InRange(world.ShareOf(i), (i < cut ? 0.99 : 0.7) / nodes, (i < cut ? 1.01 : 1.3) / nodes);
        }

        Assert.InRange(world.Shares, 0.97, 1.03);

        Assert.InRange(world.Windows(12 * Second, 10 * Second).Least, 9.5 * Rate, 10.5 * Rate);
        world.CutOff.Clear();
        world.Demands = [2 * Rate];
        world.Run(5);
        Assert.InRange(world.ShareOf(0), 0.9, 1);
        AssertNeverTooMuch(world, nodes);
    }

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
        world.Run(7);
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
        world.Run(20);
        Assert.InRange(world.ShareOf(1), 0.49, 0.51);
        world.Demands = [2 * Rate, 2 * Rate];
        world.Run(20);
        Assert.InRange(world.Shares, 0.95, 1.05);
        AssertNeverTooMuch(world, 2);
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
            var world = new ShareWorld(random.Next(), Rate, Burst, nodes) { Lost = 0.02 };
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

    /// <summary>Not in one second, not in ten; whole requests may differ by one or two at each node.</summary>
    private static void AssertNeverTooMuch(ShareWorld world, int nodes, int burst = 0)
    {
        var (atOnce, longer) = (world.Windows(2 * Second, Second).Most, world.Windows(2 * Second, 10 * Second).Most);
        TestContext.Current.TestOutputHelper?.WriteLine($"{nodes} nodes: {atOnce / (double)Rate:P1} at once, {longer / 10.0 / Rate:P1}");
        Assert.InRange(atOnce, 0, (1.5 * Rate) + burst + (2 * nodes));
        Assert.InRange(longer, 0, (11 * Rate) + burst + nodes);
    }
}
