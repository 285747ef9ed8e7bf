using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Pools;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Cluster;

/// <summary>A node of a cluster that is killed while an agent has sessions with it and with another one.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class KilledNodeTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private const string Host = "web.localhost";

    [Fact]
    public async Task Visitors_of_the_other_nodes_notice_a_killed_node_for_less_than_a_second()
    {
        await using var cluster = await ClusterProcesses.StartAsync(server, 3);
        var (killed, kept, third) = (cluster.Nodes[0], cluster.Nodes[1], cluster.Nodes[2]);
        await using var service = new NamedService("a");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(killed.Uplink.Port, service.Port) with
        {
            Further = [new ServerAccess(new ServerEndpoint("127.0.0.1", kept.Uplink.Port), null, null, IsWebSocket: false)],
        });
        await agent.Events.WaitForServersAsync(2);

        // Through the third node to both.
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal(200, await AskAsync(third));
        }

        await using var visitors = SteadyVisitors.StartInTurn(kept.Public, 3, Host, "/");
        await visitors.MoreAsync(20);
        var at = TimeProvider.System.GetTimestamp();
        killed.Runner.Kill();
        var lastFailure = TimeSpan.Zero;
        var successes = 0;
        while (successes < 50)
        {
            successes++;
            if (await AskAsync(third) != 200)
            {
                (lastFailure, successes) = (TimeProvider.System.GetElapsedTime(at), 0);
                Assert.True(lastFailure < TimeSpan.FromSeconds(1), $"A request failed {lastFailure} after the node was killed.");
            }
        }

        await agent.Events.WaitForServersAsync(1);
        await visitors.MoreAsync(20);

        // No request of the node that is left was touched, and the tunnel was ready all the time.
        Assert.All(await visitors.StopAsync(), static result => Assert.Null(result.Problem));
        Assert.Equal(0, agent.Events.EndCount.Value);

        await killed.StartAgainAsync();
        await agent.Events.WaitForServersAsync(2);
        Assert.Equal(200, await AskAsync(killed));
    }

    private static async Task<int> AskAsync(EntryProcess node)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(node.Public);
        return (await visitor.ExchangeAsync("/", Host)).Head.StatusCode;
    }
}
