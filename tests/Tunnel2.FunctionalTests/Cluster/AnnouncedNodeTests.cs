using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Agents that are given one server, and hear of the other nodes of its cluster.</summary>
public sealed class AnnouncedNodeTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task An_agent_with_one_server_has_sessions_at_two_nodes_in_two_zones()
    {
        await using var cluster = await StartAsync("a", "a", "b");
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await agent.Events.WaitForServersAsync(2);
        await cluster.Nodes[2].WaitForSessionsAsync(1);
        Assert.Equal([1, 0, 1], cluster.Nodes.Select(static node => node.Directory.Count));
        Assert.Equal(0, agent.Events.EndCount.Value);
        for (var node = 0; node < 3; node++)
        {
            Assert.Equal(3, (await cluster.AskAsync(node, 3))["a"]);
        }

        Assert.Equal((0d, 0d), (cluster.PassedBy(0), cluster.PassedBy(2)));
        Assert.Equal(0, await agent.StopAsync());
    }

    [Fact]
    public async Task An_agent_that_wants_one_node_stays_with_it()
    {
        await using var cluster = await StartAsync("a", "b");
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0) with { Nodes = 1 });
        var other = await cluster.StartAgentAsync(cluster.Options(1, 0) with { Name = "other" });
        await other.Events.WaitForServersAsync(2);
        Assert.Equal([2, 1], cluster.Nodes.Select(static node => node.Directory.Count));
        Assert.Empty(agent.Events.ServerChanges);
    }

    [Fact]
    public async Task A_node_that_stops_is_made_up_for_by_another_one()
    {
        await using var cluster = await StartAsync("a", "b", "b");
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await agent.Events.WaitForServersAsync(2);
        var second = cluster.Nodes[1].Directory.Count == 1 ? 1 : 2;
        await using (var visitors = SteadyVisitors.StartInTurn(cluster.Nodes[0].Http, 2, ClusterFixture.Host, "/"))
        {
            await visitors.MoreAsync(10);
            await cluster.Nodes[second].StopAsync();
            await cluster.Nodes[3 - second].WaitForSessionsAsync(1);
            await visitors.MoreAsync(10);
            Assert.All(await visitors.StopAsync(), static result => Assert.Null(result.Problem));
        }

        // The server that was given is lost too: what was announced continues.
        await cluster.Nodes[0].StopAsync();
        await WaitSignal.UntilAsync(
            () => agent.Events.ServerChanges.LastOrDefault() is { } servers
                && servers.Count(static one => one.IsConnected) == 1, "one is left", _long);
        Assert.Equal(3, (await cluster.AskAsync(3 - second, 3))["a"]);
        Assert.Equal(0, agent.Events.EndCount.Value);
        Assert.False(agent.Completion.IsCompleted);
    }

    [Fact]
    public async Task Another_process_of_the_same_owner_takes_the_name_from_all_sessions()
    {
        await using var cluster = await RealCluster.StartAnnouncedAsync(
            server, ["a", "b"], "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"));
        await cluster.WaitForAnnouncedAsync(cluster.Nodes.Count - 1);
        var older = await cluster.StartAgentAsync(cluster.Options(0, 0) with { Token = "secret" });
        await older.Events.WaitForServersAsync(2);
        var newer = await cluster.StartAgentAsync(cluster.Options(1, 0) with { Token = "secret" });
        Assert.Equal(AgentExitCode.Rejected, await older.Completion.WaitAsync(_long));
        await newer.Events.WaitForServersAsync(2);
        for (var node = 0; node < 2; node++)
        {
            Assert.Equal(4, (await cluster.AskAsync(node, 4))["b"]);
        }
    }

    private async Task<RealCluster> StartAsync(params string[] zones)
    {
        var cluster = await RealCluster.StartAnnouncedAsync(server, zones);
        await cluster.WaitForAnnouncedAsync(cluster.Nodes.Count - 1);
        return cluster;
    }
}
