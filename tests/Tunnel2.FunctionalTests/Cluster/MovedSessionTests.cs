using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>An agent that reaches its server by a balancer, and comes to another node with its next session.</summary>
public sealed class MovedSessionTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task A_drained_node_keeps_no_uplink_of_an_agent_that_has_moved_and_cuts_nothing()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2);
        await using var balancer = CuttingProxy.Start(cluster.Nodes[0].Uplink);
        var agent = await StartAsync(cluster, balancer);
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Nodes[0].Http);
        await visitor.SendRequestAsync("/wait", ClusterFixture.Host);
        await cluster.Services[0].Waiting.WaitForAsync(1, _long);

        balancer.Target = cluster.Nodes[1].Uplink;
        cluster.Nodes[0].Part<NodeDrain>().Set(true);
        await cluster.Nodes[1].WaitForSessionsAsync(1);
        await WaitSignal.UntilAsync(() => cluster.Nodes[0].Directory.Count == 0, "the name has moved", _long);
        Assert.NotEmpty(UplinksOf(cluster.Nodes[0]));
        cluster.Services[0].MayAnswer.Set();
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        await WaitSignal.UntilAsync(() => UplinksOf(cluster.Nodes[0]).Count == 0, "the older uplinks have ended", _long);
        Assert.Equal("a", await cluster.AskAsync(1));
        Assert.False(agent.Completion.IsCompleted);
    }

    [Fact]
    public async Task A_session_whose_name_a_late_registration_of_its_own_process_took_learns_it_and_comes_back()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2);
        await using var balancer = CuttingProxy.Start(cluster.Nodes[0].Uplink);
        var agent = await StartAsync(cluster, balancer);
        var first = Assert.Single(cluster.Nodes[0].Directory.Snapshot());

        // As a registration at another node would that was on its way to the database when its connection broke.
        cluster.Nodes[0].Part<ProxyEntry.Cluster.Names.ClusterDirectory>()
            .Lose("web", long.MaxValue, "e2", ProxyEntry.Cluster.Names.Digests.Of(first.Instance));
        await agent.Events.ReadyCount.WaitForAsync(2);
        await WaitSignal.UntilAsync(
            () => cluster.Nodes[0].Directory.Snapshot() is [var now] && now != first, "the session came back", _long);
        Assert.Equal("a", await cluster.AskAsync(0));
        Assert.Equal("a", await cluster.AskAsync(1));
    }

    [Fact]
    public async Task A_name_that_moves_again_and_again_fails_no_request_of_any_node()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3);
        await using var balancer = CuttingProxy.Start(cluster.Nodes[0].Uplink);
        await StartAsync(cluster, balancer);
        var all = cluster.Nodes.Select(static node => SteadyVisitors.StartInTurn(node.Http, 2, ClusterFixture.Host, "/")).ToArray();
        try
        {
            for (var move = 0; move < 8; move++)
            {
                var (from, to) = (move % 2, 1 - (move % 2));
                balancer.Target = cluster.Nodes[to].Uplink;
                cluster.Nodes[to].Part<NodeDrain>().Set(false);
                cluster.Nodes[from].Part<NodeDrain>().Set(true);
                await WaitSignal.UntilAsync(() => cluster.Nodes[to].Directory.Count == 1, "the name has moved", _long);
            }

            foreach (var visitors in all)
            {
                await visitors.MoreAsync(2);
                Assert.All(await visitors.StopAsync(), static result => Assert.Null(result.Problem));
            }
        }
        finally
        {
            // Those that go on after a failure would ask who has the port next.
            foreach (var visitors in all)
            {
                await visitors.DisposeAsync();
            }
        }
    }

    private static async Task<AgentFixture> StartAsync(RealCluster cluster, CuttingProxy balancer)
    {
        var options = cluster.Options(0, 0);
        var agent = await cluster.StartAgentAsync(options with { Server = new ServerEndpoint("127.0.0.1", balancer.Port) });
        await cluster.Nodes[0].WaitForSessionsAsync(1);
        return agent;
    }

    private static IReadOnlyList<Multiplexing.Uplinks.UplinkConnection> UplinksOf(EntryFixture node) =>
        [.. node.Part<UplinkHeartbeat>().Snapshot()];
}
