using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Limits;

public sealed class TierSharesTests
{
    [Fact]
    public void A_node_that_is_alone_has_all()
    {
        Assert.Equal((1, false), TierShares.Next(0.1, new ShareView(0, [], 1)));
        Assert.Equal((1, false), TierShares.Next(5, new ShareView(0.2, [], 0)));
    }

    [Fact]
    public void Demand_that_begins_gets_a_part_before_others_have_given_it_up()
    {
        var (share, isShort) = TierShares.Next(2, new ShareView(0, [new ShareReport("n2", 2, 1)], 2));
        Assert.Equal(0.4, share, 6);
        Assert.True(isShort);

        // The other one gives up what is needed, and not more.
        (share, isShort) = TierShares.Next(2, new ShareView(1, [new ShareReport("n1", 2, 0.4)], 2));
        Assert.Equal(0.5, share, 6);
        Assert.False(isShort);
    }

    [Theory]
    [InlineData(2, 1, 0.95)]
    [InlineData(3, 1, 1)]
    [InlineData(3, 2, 1.45 - (2.0 / 3))]
    [InlineData(10, 5, 0.95)]
    [InlineData(10, 9, 0.55)]
    public void What_lost_nodes_have_is_for_the_others_up_to_half_as_much_more_than_the_limit(int nodes, int lost, double all)
    {
        var shares = new double[nodes - lost];
        for (var round = 0; round < 20; round++)
        {
            for (var node = 0; node < shares.Length; node++)
            {
                var others = Enumerable.Range(0, shares.Length).Where(other => other != node)
                    .Select(other => new ShareReport($"n{other}", 2, shares[other]))
                    .Concat(Enumerable.Range(0, lost).Select(static other => new ShareReport($"lost{other}", 0, 0, IsLost: true)))
                    .ToList();
                (shares[node], _) = TierShares.Next(2, new ShareView(shares[node], others, nodes));
                Assert.InRange(shares.Sum() + ((double)lost / nodes), 0, TierShares.Most + 1e-9);
            }
        }

        // What a node lacks that is less than a quarter of its part may stay where it is, but none of it is lost.
        Assert.Equal(all, shares.Sum(), 6);
    }

    [Fact]
    public void What_is_not_needed_is_for_all_alike()
    {
        Assert.Equal((1, false), TierShares.Next(1, new ShareView(1, [], 3)));
        var (share, _) = TierShares.Next(0.1, new ShareView(0.7, [new ShareReport("n2", 0.1, 0.3)], 2));
        Assert.Equal(0.5, share, 6);
    }

    [Fact]
    public void When_each_has_decided_the_sum_is_the_limit_and_shares_are_as_the_demand() => SeededRandom.RunAsync(random =>
    {
        for (var i = 0; i < 500; i++)
        {
            var nodes = random.Next(2, 9);
            var demands = Enumerable.Range(0, nodes).Select(_ => random.Next(3) * random.NextDouble()).ToArray();
            var shares = Enumerable.Range(0, nodes).Select(_ => random.NextDouble() / nodes).ToArray();
            for (var round = 0; round < 4; round++)
            {
                for (var node = 0; node < nodes; node++)
                {
                    var others = Enumerable.Range(0, nodes).Where(other => other != node)
                        .Select(other => new ShareReport($"n{other}", demands[other], shares[other])).ToList();
                    (shares[node], _) = TierShares.Next(demands[node], new ShareView(shares[node], others, nodes));
                    Assert.InRange(shares.Sum(), 0, TierShares.Overlap + TierShares.FloorOfAll);
                }
            }

            Assert.InRange(shares.Sum(), 0.999, 1.001 + TierShares.FloorOfAll);
            var total = demands.Sum();
            for (var node = 0; node < nodes && total > 1; node++)
            {
                Assert.InRange(shares[node], (demands[node] / total) - TierShares.FloorOfAll, (demands[node] / total) + 0.1);
            }
        }

        return Task.CompletedTask;
    });
}
