using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Nodes that come and go while an agent's session runs.</summary>
public sealed class NodeNewsTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private const HandshakeCapabilities Hears = HandshakeCapabilities.AnnouncedNodes | HandshakeCapabilities.NodeNews;

    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task An_agent_of_the_only_node_gets_a_second_session_when_another_node_joins()
    {
        await using var cluster = await RealCluster.StartAnnouncedAsync(server, ["a", "b"]);
        await cluster.Nodes[1].StopAsync();
        await cluster.WaitForAnnouncedAsync(0, 0);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        Assert.Empty(agent.Events.ServerChanges);
        await cluster.RestartAsync(1);
        await agent.Events.WaitForServersAsync(2);
        await cluster.Nodes[1].WaitForSessionsAsync(1);
        Assert.Equal(["a", "a"], [await cluster.AskAsync(0), await cluster.AskAsync(1)]);
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
        Assert.Equal((0d, 0d), (cluster.PassedBy(0), cluster.PassedBy(1)));
        Assert.Equal(0, await agent.StopAsync());
    }

    [Fact]
    public async Task Of_two_sessions_in_one_zone_one_moves_to_a_node_that_joins_in_another_and_loses_nothing()
    {
        await using var cluster = await RealCluster.StartAnnouncedAsync(server, ["a", "a", "b"]);
        await cluster.Nodes[2].StopAsync();
        await cluster.WaitForAnnouncedAsync(1, 0, 1);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await agent.Events.WaitForServersAsync(2);
        await cluster.Nodes[1].WaitForSessionsAsync(1);
        await using var upgraded = await RawHttpClient.ConnectAsync(cluster.Nodes[1].Http);
        await upgraded.WriteAsync(
            $"GET / HTTP/1.1\r\nHost: {ClusterFixture.Host}\r\nConnection: Upgrade\r\nUpgrade: names\r\n\r\n");
        Assert.Equal(101, (await upgraded.ReadHeadAsync()).StatusCode);
        await using var visitors = SteadyVisitors.StartInTurn(cluster.Nodes[1].Http, 2, ClusterFixture.Host, "/");
        await visitors.MoreAsync(5);
        await cluster.RestartAsync(2);
        await cluster.Nodes[2].WaitForSessionsAsync(1);

        // What takes long is carried on where it is; the session there ends when it is over.
        await upgraded.WriteAsync("x");
        Assert.Equal("a"u8.ToArray(), await upgraded.ReadExactlyAsync(1));
        Assert.Equal(1, cluster.Nodes[1].Directory.Count);
        await upgraded.DisposeAsync();
        await cluster.Nodes[1].WaitForSessionsAsync(0);
        await visitors.MoreAsync(10);
        Assert.All(await visitors.StopAsync(), static result => Assert.Null(result.Problem));
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
        Assert.True(agent.Events.ServerChanges.Last() is [{ IsConnected: true }, { IsConnected: true }]);
        Assert.Equal(0, await agent.StopAsync());
    }

    [Fact]
    public async Task A_session_hears_of_a_node_that_joins_and_of_one_that_leaves()
    {
        await using var cluster = await RealCluster.StartAnnouncedAsync(server, ["a", "b"]);
        await cluster.WaitForAnnouncedAsync(1);
        await using var older = await ConnectAsync(cluster, HandshakeCapabilities.AnnouncedNodes, "older");
        await using var agent = await ConnectAsync(cluster, Hears, "web");
        await cluster.Nodes[1].StopAsync();
        Assert.Equal("e1 a", await ReadListAsync(agent, known: "e1 a e2"));
        await cluster.RestartAsync(1);
        Assert.Equal("e1 a e2", await ReadListAsync(agent, known: "e1 a"));

        // The agent of the release before gets no such frame.
        Assert.DoesNotContain(await older.SyncAsync(), static frame => frame.Type == FrameType.Nodes);
    }

    [Fact]
    public async Task Agents_that_send_lists_themselves_change_nothing()
    {
        await using var cluster = await RealCluster.StartAnnouncedAsync(server, ["a", "b"]);
        await cluster.WaitForAnnouncedAsync(1);
        await using var agent = await ConnectAsync(cluster, Hears, "web");
        for (var i = 1u; i <= 100; i++)
        {
            await agent.SendAsync(new NodeAnnouncement("evil", "z", [new AnnouncedNode("x", "192.0.2.1", 1, "z")]).ToFrame(i));
        }

        Assert.All(await agent.SyncAsync(), static frame => Assert.Equal("e1 a e2", ListOf(frame)));
        Assert.Equal(1, cluster.Nodes[0].Directory.Count);
    }

    [Fact]
    public async Task A_server_that_floods_its_agent_with_lists_loses_the_session()
    {
        var ended = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var hostile = RawTcpServer.Start(async connection =>
        {
            var uplink = new RawUplink(connection);
            if (ended.Task.IsCompleted || await uplink.ReadAsync() is not { Type: FrameType.Hello })
            {
                return;
            }

            await uplink.SendAsync((RawUplink.Welcome() with
            {
                Capabilities = HandshakeCapabilities.SeveralNodes | Hears,
                Announcement = new NodeAnnouncement("e1", "a", []),
            }).ToFrame());
            for (var i = 1u; i <= 1_000; i++)
            {
                await uplink.SendAsync(new NodeAnnouncement("e1", "a", []).ToFrame(i));
            }

            ended.TrySetResult((await uplink.ReadUntilAsync(FrameType.GoAway)).GoAway.Text);
        });
        await using var agent = AgentFixture.Start(AgentFixture.Options(hostile.Port, 1));
        Assert.Equal(nameof(ProtocolError.EmptyFrameFlood), await ended.Task.WaitAsync(_long));
    }

    private static async Task<RawUplink> ConnectAsync(RealCluster cluster, HandshakeCapabilities capabilities, string name)
    {
        var uplink = await RawUplink.ConnectAsync(cluster.Nodes[0].Uplink);
        await uplink.SendAsync((RawUplink.Hello(name) with { Capabilities = capabilities }).ToFrame());
        var welcome = (await uplink.ReadAsync())!.Welcome;
        Assert.Equal(capabilities | HandshakeCapabilities.SeveralNodes, welcome.Capabilities);
        return uplink;
    }

    /// <summary>The next list that is another one: what a session knows by its WELCOME may come to it once more.</summary>
    private static async Task<string> ReadListAsync(RawUplink uplink, string known)
    {
        string list;
        do
        {
            list = ListOf(await uplink.ReadUntilAsync(FrameType.Nodes));
        }
        while (list == known);
        return list;
    }

    private static string ListOf(ReceivedFrame frame)
    {
        Assert.Equal(FrameType.Nodes, frame.Type);
        Assert.Equal(ProtocolError.None, NodeAnnouncement.TryReadFrame(frame.Payload, out _, out var list));
        return string.Join(' ', list!.Others.Select(static other => other.Node).Prepend($"{list.Node} {list.Zone}"));
    }
}
