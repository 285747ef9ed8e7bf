using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>A name with sessions at several nodes, over a real database.</summary>
public sealed class SharedNameTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task An_agent_at_two_nodes_is_served_by_the_node_that_the_visitor_came_to()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0, 1));
        Assert.Equal(0, agent.Events.EndCount.Value);
        Assert.All(cluster.Nodes, static node => Assert.Equal(1, node.Directory.Count));
        for (var node = 0; node < 2; node++)
        {
            Assert.Equal(5, (await cluster.AskAsync(node, 5))["a"]);
            Assert.Equal(0, cluster.PassedBy(node));
        }

        Assert.Equal(0, await agent.StopAsync());
        Assert.Equal(1, agent.Events.StoppedCount.Value);
    }

    [Fact]
    public async Task A_pool_at_two_nodes_serves_visitors_of_a_third_in_equal_shares()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3);
        for (var i = 0; i < 2; i++)
        {
            await cluster.StartAgentAsync(cluster.Options(i, i) with { Pool = true });
        }

        await cluster.OpenLinksAsync(2, 2);
        var answers = await cluster.AskAsync(2, 40);
        Assert.Equal(["a", "b"], answers.Keys.Order());
        Assert.All(answers.Values, static count => Assert.InRange(count, 12, 28));

        // Where there is a member, it serves.
        Assert.Equal(10, (await cluster.AskAsync(0, 10))["a"]);
        Assert.Equal(10, (await cluster.AskAsync(1, 10))["b"]);
    }

    [Fact]
    public async Task Requests_go_where_fewer_are_under_way()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3);
        for (var i = 0; i < 2; i++)
        {
            await cluster.StartAgentAsync(cluster.Options(i, i) with { Pool = true });
        }

        await cluster.OpenLinksAsync(2, 2);
        var visitors = new List<RawHttpClient>();
        for (var i = 0; i < 6; i++)
        {
            visitors.Add(await RawHttpClient.ConnectAsync(cluster.Nodes[2].Http));
            await visitors[i].SendRequestAsync("/wait", ClusterFixture.Host);
            await WaitSignal.UntilAsync(
                () => cluster.Services.Sum(static one => one.Waiting.Value) == i + 1, "the request has come", _long);
        }

        Assert.Equal([3, 3], cluster.Services.Take(2).Select(static one => one.Waiting.Value));
        cluster.Services.ForEach(static service => service.MayAnswer.Set());
        foreach (var visitor in visitors)
        {
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
            await visitor.DisposeAsync();
        }
    }

    [Fact]
    public async Task An_unhealthy_service_gets_nothing_through_any_node()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3);
        for (var i = 0; i < 2; i++)
        {
            await cluster.StartAgentAsync(cluster.Options(i, i) with
            {
                Pool = true,
                Health = new HealthCheck("/check") { Interval = TimeSpan.FromMilliseconds(50), Failures = 2, Successes = 2 },
            });
        }

        await AllHealthyAsync(cluster, 0, true);
        await AllHealthyAsync(cluster, 1, true);
        await WithinASecondAsync(async () => (await cluster.AskAsync(2, 10)).Count == 2);
        cluster.Services[0].IsWell = false;
        await AllHealthyAsync(cluster, 0, false);
        await WithinASecondAsync(async () =>
            !(await cluster.AskAsync(2, 4)).ContainsKey("a") && !(await cluster.AskAsync(0, 4)).ContainsKey("a"));

        for (var node = 0; node < 3; node++)
        {
            Assert.Equal(6, (await cluster.AskAsync(node, 6))["b"]);
        }

        // With none that is healthy, those of the visitor's own node serve.
        cluster.Services[1].IsWell = false;
        await AllHealthyAsync(cluster, 1, false);
        Assert.Equal(4, (await cluster.AskAsync(0, 4)).Values.Sum());
    }

    [Fact]
    public async Task A_service_that_takes_no_connection_is_no_visitors_error_at_any_node()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3, "Pool:Pause=off");
        for (var i = 0; i < 2; i++)
        {
            await cluster.StartAgentAsync(cluster.Options(i, i) with { Pool = true });
        }

        await cluster.OpenLinksAsync(2, 2);
        Assert.Equal(2, (await cluster.AskAsync(2, 30)).Count);
        await cluster.Services[0].DisposeAsync();
        for (var node = 0; node < 3; node++)
        {
            Assert.Equal(10, (await cluster.AskAsync(node, 10))["b"]);
        }
    }

    [Fact]
    public async Task A_node_that_stops_moves_nothing_but_its_own()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0, 1));
        var ready = agent.Events.ReadyCount.Value;
        await using var waiting = await RawHttpClient.ConnectAsync(cluster.Nodes[1].Http);
        await waiting.SendRequestAsync("/wait", ClusterFixture.Host);
        await cluster.Services[0].Waiting.WaitForAsync(1, _long);
        await using var visitors = SteadyVisitors.StartInTurn(cluster.Nodes[1].Http, 2, ClusterFixture.Host, "/");
        await visitors.MoreAsync(20);
        await cluster.Nodes[0].StopAsync();
        await agent.Events.WaitForServersAsync(1);
        await visitors.MoreAsync(20);
        Assert.All(await visitors.StopAsync(), static result => Assert.Null(result.Problem));
        cluster.Services[0].MayAnswer.Set();
        Assert.Equal(200, (await waiting.ReadHeadAsync()).StatusCode);
        Assert.Equal(
            (ready, 0, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value, agent.Events.DrainingCount.Value));
    }

    [Fact]
    public async Task Another_process_of_the_same_owner_takes_the_name_as_a_whole()
    {
        await using var cluster = await RealCluster.StartAsync(
            server, 2, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"));
        var older = await cluster.StartAgentAsync(cluster.Options(0, 0, 1) with { Token = "secret" });
        await cluster.StartAgentAsync(cluster.Options(1, 0, 1) with { Token = "secret" });
        Assert.Equal(AgentExitCode.Rejected, await older.Completion.WaitAsync(_long));
        for (var node = 0; node < 2; node++)
        {
            Assert.Equal(4, (await cluster.AskAsync(node, 4))["b"]);
            await cluster.Nodes[node].WaitForSessionsAsync(1);
        }
    }

    [Fact]
    public async Task A_server_that_cannot_be_reached_holds_up_no_other()
    {
        await using var cluster = await RealCluster.StartAsync(server, 1);
        var nobody = new ServerAccess(new ServerEndpoint("127.0.0.1", FreePort.Next()), null, null, IsWebSocket: false);
        var both = AgentFixture.Start(cluster.Options(0, 0) with { Further = [nobody], ExitOnFailure = true });
        cluster.Agents.Add(both);
        await both.Events.ReadyCount.WaitForAsync(1, _long);
        await both.Events.WaitForServersAsync(1);
        Assert.Equal(2, (await cluster.AskAsync(0, 2))["a"]);
        Assert.False(both.Completion.IsCompleted);

        var none = AgentFixture.Start(
            cluster.Options(0, 0) with { Server = nobody.Server, Further = [nobody], ExitOnFailure = true });
        cluster.Agents.Add(none);
        Assert.Equal(AgentExitCode.ServerUnreachable, await none.Completion.WaitAsync(_long));
    }

    [Fact]
    public async Task Servers_that_are_no_cluster_are_two_public_urls()
    {
        await using var one = await EntryFixture.StartAsync(null, "Domain=one.localhost");
        await using var other = await EntryFixture.StartAsync(null, "Domain=other.localhost");
        await using var service = new Pools.NamedService("a");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(one.Uplink.Port, service.Port) with
        {
            Further = [new ServerAccess(new ServerEndpoint("127.0.0.1", other.Uplink.Port), null, null, IsWebSocket: false)],
        });
        await agent.Events.ReadyCount.WaitForAsync(2, _long);
        Assert.Equal(
            [$"http://web.one.localhost:{one.Http.Port}/", $"http://web.other.localhost:{other.Http.Port}/"],
            agent.Events.PublicUrls.Select(static url => url.TrimEnd('/') + "/").Order(StringComparer.Ordinal));
        await WaitSignal.UntilAsync(
            () => agent.Events.ServerChanges.LastOrDefault() is { } servers
                && servers.Any(static one => one.IsConnected && one.Message?.Contains("URL", StringComparison.Ordinal) == true),
            "it is said", _long);
    }

    /// <summary>A node knows at once what its own agents report; all others know it within a second.</summary>
    private static async Task WithinASecondAsync(Func<Task<bool>> holds)
    {
        var at = TimeProvider.System.GetTimestamp();
        TimeSpan asked;
        do
        {
            // What is asked before the second is over may be answered by the old knowledge, however long the answers take.
            asked = TimeProvider.System.GetElapsedTime(at);
            if (await holds())
            {
                return;
            }
        }
        while (asked < TimeSpan.FromSeconds(1));
        Assert.Fail("All nodes know it within a second.");
    }

    private static Task AllHealthyAsync(RealCluster cluster, int node, bool isHealthy) => cluster.Nodes[node].UntilAsync(
        () => cluster.Nodes[node].Directory.Snapshot().All(session => session.Member!.IsHealthy == isHealthy),
        $"the services of a node are {(isHealthy ? "healthy" : "not healthy")}", _long);
}
