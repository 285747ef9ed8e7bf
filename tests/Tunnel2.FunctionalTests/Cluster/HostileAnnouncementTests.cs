using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Scripted servers that announce nodes, or are older than that, against the real agent.</summary>
public sealed class HostileAnnouncementTests
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task A_server_of_the_release_before_has_one_session_and_no_other_dial()
    {
        HelloMessage? hello = null;
        await using var server = Start(
            seen =>
            {
                hello = seen;
                return RawUplink.Welcome();
            });
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(server.Port, 1));
        Assert.Equal(
            HandshakeCapabilities.AnnouncedNodes,
            hello!.Capabilities & (HandshakeCapabilities.AnnouncedNodes | HandshakeCapabilities.SeveralNodes));
        Assert.Equal(0, await agent.StopAsync());
        Assert.Empty(agent.Events.ServerChanges);
        Assert.Equal(1, server.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task A_server_that_announces_itself_by_another_name_is_not_dialled_twice()
    {
        RawTcpServer? self = null;
        await using var server = Start(_ => Announce(("other", "127.0.0.1", self!.Port), ("third", "LOCALHOST", self.Port)));
        self = server;
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(server.Port, 1));
        Assert.Equal(0, await agent.StopAsync());
        Assert.Equal(1, server.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task Announced_ports_that_are_no_servers_are_said_once_and_the_first_session_stays()
    {
        await using var other = RawTcpServer.Start(static connection => connection.WriteAsync("SSH-2.0-OpenSSH_9.2\r\n"));
        await using var another = RawTcpServer.Start(static connection => connection.WriteAsync("SSH-2.0-OpenSSH_9.2\r\n"));
        await using var server = Start(_ => Announce(("e2", "127.0.0.1", other.Port), ("e3", "127.0.0.1", another.Port)));
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(server.Port, 1));
        await other.ConnectionsDone.WaitForAsync(1, _long);
        await another.ConnectionsDone.WaitForAsync(1, _long);
        Assert.Equal(0, await agent.StopAsync());
        Assert.True(Assert.Single(agent.Events.ServerChanges) is [{ IsConnected: true }, { IsConnected: false, Message: not null }]);
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
    }

    [Fact]
    public async Task A_name_that_leads_to_this_machine_is_no_node_of_a_server_elsewhere()
    {
        await using var listener = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var options = AgentFixture.Options(listener.Port, 1) with { AvoidsThisMachine = true };
        await using var agent = AgentFixture.Start(options);
        await agent.Events.EndCount.WaitForAsync(1, _long);
        Assert.Contains("leads to this machine", Assert.Single(agent.Events.Ends.Take(1)).Message, StringComparison.Ordinal);
        Assert.Equal(0, await agent.StopAsync());
        Assert.Equal(0, listener.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task An_announced_node_that_ends_the_session_takes_nothing_from_the_first_one()
    {
        await using var node = Start(
            static _ => Announce(),
            static async uplink => await uplink.SendAsync(
                UplinkFrames.GoAway(GoAwayPhase.Final, SessionEndReason.Revoked)));
        await using var server = Start(_ => Announce(("e2", "127.0.0.1", node.Port)));
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(server.Port, 1));
        await node.ConnectionsDone.WaitForAsync(1, _long);
        await WaitSignal.UntilAsync(
            () => agent.Events.ServerChanges.LastOrDefault() is [{ IsConnected: true }, { IsConnected: false, Message: not null }],
            "it is said", _long);
        Assert.Equal(0, agent.Events.EndCount.Value);
        Assert.False(agent.Completion.IsCompleted);
        Assert.Equal(AgentExitCode.Stopped, await agent.StopAsync());
    }

    /// <summary>Plays a server for one agent after the other.</summary>
    private static RawTcpServer Start(Func<HelloMessage, WelcomeMessage> answer, Func<RawUplink, Task>? then = null) =>
        RawTcpServer.Start(async connection =>
        {
            var uplink = new RawUplink(connection);
            if (await uplink.ReadAsync() is { Type: FrameType.Hello } frame)
            {
                Assert.Equal(ProtocolError.None, HelloMessage.TryRead(frame.Payload, out var hello));
                await uplink.SendAsync(answer(hello!).ToFrame());
                await (then?.Invoke(uplink) ?? uplink.WaitForGoodbyeAsync());
            }
        });

    private static WelcomeMessage Announce(params (string Node, string Host, int Port)[] others) => RawUplink.Welcome() with
    {
        Capabilities = HandshakeCapabilities.SeveralNodes | HandshakeCapabilities.AnnouncedNodes,
        Announcement = new NodeAnnouncement(
            others.Length == 0 ? "e2" : "e1", "a",
            [.. others.Select(static one => new AnnouncedNode(one.Node, one.Host, one.Port, "b"))]),
    };
}
