using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Loops;
using Tunnel2.ProxyEntry.Cluster.Links;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Links are spread over the loops of the node that serves, and each name finds the one on the loop of its session.</summary>
public sealed class NodeLoopTests
{
    private const int Rounds = 200;

    private static readonly string[] _names = ["web", "two", "three"];

    [Fact]
    public Task Streams_cross_between_loops_only_until_a_link_is_on_the_loop_of_their_session() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            await using var two = await StartAgentAsync(cluster, "two");
            await using var three = await StartAgentAsync(cluster, "three");
            var loops = _names.Select(name => LoopVisitors.LoopOf(cluster.Owner, name)).Distinct().Count();
            Assert.InRange(loops, 2, 3);
            await using var visitor = await cluster.ConnectAsync();
            var (rounds, quiet) = (0, 0);
            for (; rounds < Rounds && quiet < 20; rounds++)
            {
                var before = LoopVisitors.Counts(cluster.Owner).Crossed;
                foreach (var name in _names)
                {
                    var (head, _) = await visitor.ExchangeAsync("/", name + ".localhost");
                    Assert.Equal(200, head.StatusCode);
                }

                var crossed = LoopVisitors.Counts(cluster.Owner).Crossed - before;
                Assert.True(rounds > 0 || crossed > 0, "One link cannot be on several loops.");
                quiet = crossed == 0 ? quiet + 1 : 0;
            }

            Assert.InRange(rounds, 1, Rounds - 1);
            Assert.InRange(ClusterFixture.LinksOf(cluster.Front), loops, NodeLink.MaxConnections);
        },
        settings: LoopVisitors.Three);

    private static async Task<AgentFixture> StartAgentAsync(ClusterFixture cluster, string name)
    {
        var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(cluster.Owner.Uplink.Port, cluster.Service, name));
        var epoch = cluster.Owner.Directory.Snapshot().Single(session => session.Name == name).Epoch;
        cluster.Knowledge.Truth[name] = cluster.PlaceOf(0, epoch);
        return agent;
    }
}
