using System.Net;
using Tunnel2.Client.Core.Events;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Announced nodes that go, come back, or are not what they were announced as.</summary>
public sealed class AnnouncedNodeFaultTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task A_drained_node_is_made_up_for_by_a_third_one_and_used_again_when_it_is_back()
    {
        await using var cluster = await StartAsync("a", "b", "b");
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await agent.Events.WaitForServersAsync(2);
        var second = cluster.Nodes[1].Directory.Count == 1 ? 1 : 2;
        var third = 3 - second;
        await using (var visitors = SteadyVisitors.StartInTurn(cluster.Nodes[second].Http, 2, ClusterFixture.Host, "/"))
        {
            await visitors.MoreAsync(10);
            await cluster.DrainAsync(second, isDrained: true);
            await cluster.Nodes[third].WaitForSessionsAsync(1);
            await WaitSignal.UntilAsync(() => cluster.Nodes[second].Directory.Count == 0, "the drained node has no session", _long);
            await visitors.MoreAsync(10);
            Assert.All(await visitors.StopAsync(), static result => Assert.Null(result.Problem));
        }

        await agent.Events.WaitForServersAsync(2);
        await cluster.WaitForAnnouncedAsync(1, 0, third);
        await cluster.DrainAsync(second, isDrained: false);
        await cluster.WaitForAnnouncedAsync(2);

        // The agent stays where it is. New ones come there again: of the two other nodes, one takes it.
        Assert.Equal(1, cluster.Nodes[third].Directory.Count);
        await cluster.DrainAsync(third, isDrained: true);
        await cluster.Nodes[second].WaitForSessionsAsync(1);
        await cluster.WaitForAnnouncedAsync(1, 0, second);
        var other = await cluster.StartAgentAsync(cluster.Options(1, 0) with { Name = "other" });
        await other.Events.WaitForServersAsync(2);
        await cluster.Nodes[second].WaitForSessionsAsync(2);
        Assert.Equal(0, agent.Events.EndCount.Value);
    }

    [Fact]
    public async Task A_given_server_that_comes_back_is_used_again_and_the_session_too_many_leaves_in_order()
    {
        await using var cluster = await StartAsync("a", "b", "b");
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await agent.Events.WaitForServersAsync(2);
        await cluster.Nodes[0].StopAsync();
        await cluster.Nodes[1].WaitForSessionsAsync(1);
        await cluster.Nodes[2].WaitForSessionsAsync(1);
        await WaitForAsync(agent, static servers => servers is [{ IsConnected: false, Message: not null }, _, _]);
        Assert.Equal(["a", "a"], [await cluster.AskAsync(1), await cluster.AskAsync(2)]);

        await using var visitors = SteadyVisitors.StartInTurn(cluster.Nodes[1].Http, 2, ClusterFixture.Host, "/");
        await visitors.MoreAsync(5);
        await cluster.RestartAsync(0);
        await cluster.Nodes[0].WaitForSessionsAsync(1);
        await WaitForAsync(agent, static servers => servers is [{ IsConnected: true }, { IsConnected: true }]);
        await WaitSignal.UntilAsync(
            () => cluster.Nodes[1].Directory.Count + cluster.Nodes[2].Directory.Count == 1, "one of the two has left", _long);
        await visitors.MoreAsync(20);
        Assert.All(await visitors.StopAsync(), static result => Assert.Null(result.Problem));

        // It stays so, and to the user there was one tunnel all the time.
        Assert.True(agent.Events.ServerChanges.Last() is [{ IsConnected: true }, { IsConnected: true }]);
        Assert.Equal(1, cluster.Nodes[0].Directory.Count);
        Assert.Equal(0, agent.Events.EndCount.Value);
        Assert.Equal(0, await agent.StopAsync());
    }

    [Fact]
    public async Task An_address_that_leads_to_the_given_node_takes_nothing_from_the_agent()
    {
        await using var stray = CuttingProxy.Start(new IPEndPoint(IPAddress.Loopback, 1));
        await using var cluster = await RealCluster.StartAnnouncedAsync(
            server, ["a", "b"], node => node == 0 ? [] : [$"Cluster:Uplink={stray.EndPoint}"]);
        stray.Target = cluster.Nodes[0].Uplink;
        await cluster.WaitForAnnouncedAsync(1);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await WaitForAsync(agent, static servers => servers is [{ IsConnected: true }, { IsConnected: false, Message: not null }]);
        Assert.Contains(
            "This is e1, with which the agent has a session", agent.Events.ServerChanges.Last()[1].Message, StringComparison.Ordinal);

        // The node has refused the session that was not wanted, before it took anything from the one that it has.
        Assert.Equal("a", await cluster.AskAsync(0));
        Assert.Single(cluster.Nodes[0].Log.All, static line => line.EventId == 2000);
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
        Assert.Equal(1, stray.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task A_node_of_another_cluster_is_refused_and_said_and_the_first_session_continues()
    {
        await using var stranger = await EntryFixture.StartAsync(null, "Domain=tunnel.example");
        await using var cluster = await RealCluster.StartAnnouncedAsync(
            server, ["a", "b"], node => node == 0 ? [] : [$"Cluster:Uplink={stranger.Uplink}"]);
        await cluster.WaitForAnnouncedAsync(1);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await WaitForAsync(agent, static servers => servers is [{ IsConnected: true }, { IsConnected: false, Message: not null }]);
        Assert.Contains("of another cluster", agent.Events.ServerChanges.Last()[1].Message, StringComparison.Ordinal);
        await stranger.WaitForSessionsAsync(0);
        Assert.Equal("a", await cluster.AskAsync(0));
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
    }

    [Fact]
    public async Task An_agent_of_the_release_before_gets_no_list_and_one_session()
    {
        await using var cluster = await StartAsync("a", "b");
        var (older, welcome) = await RawUplink.ConnectForSeveralAsync(cluster.Nodes[0].Uplink);
        await using (older)
        {
            Assert.Null(welcome.Announcement);
            Assert.Equal(HandshakeCapabilities.MultipleUplinks, welcome.Capabilities);
        }
    }

    private async Task<RealCluster> StartAsync(params string[] zones)
    {
        var cluster = await RealCluster.StartAnnouncedAsync(server, zones);
        await cluster.WaitForAnnouncedAsync(zones.Length - 1);
        return cluster;
    }

    private static async Task WaitForAsync(AgentFixture agent, Func<IReadOnlyList<ServerStatus>, bool> condition)
    {
        try
        {
            await WaitSignal.UntilAsync(
                () => agent.Events.ServerChanges.LastOrDefault() is { } servers && condition(servers), "the servers are so", _long);
        }
        catch (TimeoutException)
        {
            Assert.Fail(string.Join(
                '\n', agent.Events.ServerChanges.Select(static servers => string.Join(" | ", servers))));
        }
    }
}
