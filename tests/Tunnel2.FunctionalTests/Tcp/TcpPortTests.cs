using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Tcp;

public sealed class TcpPortTests
{
    [Fact]
    public async Task An_agent_that_comes_back_gets_its_port_again_also_under_another_name()
    {
        await using var entry = await EntryFixture.StartAsync(null, TcpTunnel.Ports());
        int port;
        await using (var first = await AgentFixture.StartReadyAsync(Options(entry, "one")))
        {
            port = TcpTunnel.EndPointOf(first).Port;
        }

        await entry.WaitForSessionsAsync(0);
        await using var again = await AgentFixture.StartReadyAsync(Options(entry, "one"));
        Assert.Equal(port, TcpTunnel.EndPointOf(again).Port);
        await again.StopAsync();
        await entry.WaitForSessionsAsync(0);
        await using var renamed = await AgentFixture.StartReadyAsync(Options(entry, "two") with { RemotePort = port });
        Assert.Equal(port, TcpTunnel.EndPointOf(renamed).Port);
    }

    [Fact]
    public async Task A_port_is_kept_for_its_owner_and_then_free()
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time, TcpTunnel.Ports(1));
        int port;
        await using (var first = await AgentFixture.StartReadyAsync(Options(entry, "one")))
        {
            port = TcpTunnel.EndPointOf(first).Port;
            var refused = await RefusedAsync(Options(entry, "two") with { OwnerKey = default, RemotePort = port });
            Assert.Equal((RejectionReason.PortNotAvailable, ConnectionEndReason.RejectedPermanently), refused);
        }

        await entry.WaitForSessionsAsync(0);
        var kept = await RefusedAsync(Options(entry, "two") with { OwnerKey = default, RemotePort = port });
        Assert.Equal((RejectionReason.PortNotAvailable, ConnectionEndReason.RejectedForNow), kept);

        // The listener outlives the session for as long as visitors wait for the agent.
        time.Advance(TimeSpan.FromSeconds(6));
        await WaitSignal.UntilAsync(() => FreePort.IsFree(port), "the listener is closed");
        time.Advance(TimeSpan.FromMinutes(11));
        await using var other = await AgentFixture.StartReadyAsync(Options(entry, "two") with { OwnerKey = default, RemotePort = port });
        Assert.Equal(port, TcpTunnel.EndPointOf(other).Port);
    }

    [Fact]
    public async Task Ports_outside_of_the_range_in_use_or_of_a_range_that_is_off_are_refused_with_the_reason()
    {
        var range = TcpTunnel.Ports(2);
        var first = int.Parse(range.Split('=', '-')[1], System.Globalization.CultureInfo.InvariantCulture);
        await using var entry = await EntryFixture.StartAsync(null, range, "Tcp:PortsPerAgent=2");
        Assert.Equal(
            (RejectionReason.PortNotAvailable, ConnectionEndReason.RejectedPermanently),
            await RefusedAsync(Options(entry, "one") with { RemotePort = first + 2 }, "is not one that this server gives"));
        using (var other = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp))
        {
            other.Bind(new IPEndPoint(IPAddress.Loopback, first));
            other.Listen();
            Assert.Equal(
                (RejectionReason.PortNotAvailable, ConnectionEndReason.RejectedForNow),
                await RefusedAsync(Options(entry, "one") with { RemotePort = first }, "in use by another program"));

            // Any other will do for an agent that did not name one.
            await using var agent = await AgentFixture.StartReadyAsync(Options(entry, "one"));
            Assert.Equal(first + 1, TcpTunnel.EndPointOf(agent).Port);
            Assert.Equal(
                (RejectionReason.PortNotAvailable, ConnectionEndReason.RejectedForNow),
                await RefusedAsync(Options(entry, "two"), "are taken"));
        }

        await using var without = await EntryFixture.StartAsync(null, "Tcp:Ports=off");
        Assert.Equal(
            (RejectionReason.KindUnsupported, ConnectionEndReason.RejectedPermanently),
            await RefusedAsync(Options(without, "one"), "Tcp:Ports is off"));
        Assert.Equal(
            (RejectionReason.KindUnsupported, ConnectionEndReason.RejectedPermanently),
            await RefusedAsync(Options(without, "one") with { Kind = SessionKind.Tls }, "no listener for TLS"));
    }

    [Fact]
    public async Task When_all_ports_are_taken_an_agent_is_asked_to_come_again_and_ports_of_agents_that_left_are_given_away()
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time, TcpTunnel.Ports(1));
        int port;
        await using (var first = await AgentFixture.StartReadyAsync(Options(entry, "one")))
        {
            port = TcpTunnel.EndPointOf(first).Port;
            Assert.Equal(
                (RejectionReason.PortNotAvailable, ConnectionEndReason.RejectedForNow),
                await RefusedAsync(Options(entry, "two") with { OwnerKey = default }, "are taken"));
        }

        await entry.WaitForSessionsAsync(0);
        time.Advance(TimeSpan.FromSeconds(6));
        await using var other = await AgentFixture.StartReadyAsync(Options(entry, "two") with { OwnerKey = default });
        Assert.Equal(port, TcpTunnel.EndPointOf(other).Port);
    }

    [Theory]
    [InlineData(SessionKind.Tcp)]
    [InlineData(SessionKind.Udp)]
    public async Task An_agent_gets_its_part_of_the_ports_and_comes_again_for_more_and_another_agent_gets_one(SessionKind kind)
    {
        var range = TcpTunnel.Ports();
        await using var entry = await EntryFixture.StartAsync(
            null, range, range.Replace("Tcp", "Udp", StringComparison.Ordinal), "Tcp:PortsPerAgent=2", "Udp:PortsPerAgent=2");
        await using var first = await AgentFixture.StartReadyAsync(OfKind(kind, entry, "one"));
        await using var second = await AgentFixture.StartReadyAsync(OfKind(kind, entry, "two"));
        Assert.Equal(
            (RejectionReason.PortLimitReached, ConnectionEndReason.RejectedForNow),
            await RefusedAsync(OfKind(kind, entry, "three"), "[PortLimitReached: The agent has 2 ports, and may have no more.]"));
        await using var other = await AgentFixture.StartReadyAsync(OfKind(kind, entry, "three") with { OwnerKey = default });
        Assert.Equal(3, entry.Directory.Count);
    }

    [Theory]
    [InlineData(SessionKind.Tcp, SessionKind.Tcp)]
    [InlineData(SessionKind.Tcp, SessionKind.Udp)]
    [InlineData(SessionKind.Udp, SessionKind.Tcp)]
    [InlineData(SessionKind.Http, SessionKind.Tcp)]
    [InlineData(SessionKind.Tcp, SessionKind.Http)]
    public async Task A_name_of_another_agent_is_refused_for_a_tunnel_of_any_kind_and_costs_no_port(SessionKind first, SessionKind second)
    {
        var range = TcpTunnel.Ports(2);
        await using var entry = await EntryFixture.StartAsync(
            null, range, range.Replace("Tcp", "Udp", StringComparison.Ordinal), "Tcp:PortsPerAgent=2", "Udp:PortsPerAgent=2");
        await using var owner = await AgentFixture.StartReadyAsync(OfKind(first, entry, "web"));
        for (var i = 0; i < 3; i++)
        {
            Assert.Equal(
                (RejectionReason.NameTaken, ConnectionEndReason.RejectedPermanently),
                await RefusedAsync(OfKind(second, entry, "web") with { OwnerKey = default }));
        }

        Assert.Equal((0, 1), (owner.Events.EndCount.Value, entry.Directory.Count));
        await using var other = await AgentFixture.StartReadyAsync(OfKind(second, entry, "other") with { OwnerKey = default });
        Assert.Equal(2, entry.Directory.Count);
    }

    [Fact]
    public async Task A_server_that_knows_no_kinds_is_left_at_once_with_the_reason()
    {
        var ended = new WaitSignal("the agent has left");
        await using var server = RawTcpServer.Start(async agent =>
        {
            var header = await agent.ReadExactlyAsync(8);
            var payload = await agent.ReadExactlyAsync((header[0] << 16) | (header[1] << 8) | header[2]);

            // What such a server reads: no name, so it takes none over.
            payload[9] = 0;
            HelloMessage.TryRead(payload, out var hello);
            Assert.Equal("", hello!.WantedName);
            await agent.WriteAsync(new WelcomeMessage
            {
                SessionId = new byte[WelcomeMessage.SessionIdLength],
                JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
                Name = "x1234",
                PublicUrls = ["http://x1234.localhost:12000"],
            }.ToFrame());
            await agent.WaitForEndAsync();
            ended.Set();
        });
        var options = TcpTunnel.UseTcp(AgentFixture.Options(server.Port, 1));
        await using var agent = AgentFixture.Start(options);
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        Assert.Contains("older than such tunnels", Assert.Single(agent.Events.Ends).Message, StringComparison.Ordinal);
        Assert.Equal(0, agent.Events.ReadyCount.Value);
        await ended.WaitAsync();
    }

    private static AgentOptions OfKind(SessionKind kind, EntryFixture entry, string name) => Options(entry, name) is var options
        && kind == SessionKind.Http
            ? AgentFixture.Options(entry.Uplink.Port, 1, name)
            : options with { Kind = kind, Upstream = options.Upstream with { IsDatagram = kind == SessionKind.Udp } };

    private static AgentOptions Options(EntryFixture entry, string name) =>
        TcpTunnel.UseTcp(AgentFixture.Options(entry.Uplink.Port, 1, name));

    private static async Task<(RejectionReason Reason, ConnectionEndReason End)> RefusedAsync(AgentOptions options, string words = "")
    {
        await using var agent = AgentFixture.Start(options);
        await agent.Events.EndCount.WaitForAsync(1);
        var end = agent.Events.Ends[0];
        Assert.Contains(words, end.Message, StringComparison.Ordinal);
        return (end.Rejection!.Reason, end.Reason);
    }
}
