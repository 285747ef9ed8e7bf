using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>The way that an agent chooses by itself: over WebSocket while the uplink's port cannot be reached, and back.</summary>
[Trait("Engine", "each")]
public sealed class ClimbTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task A_session_leaves_a_closed_port_for_a_WebSocket_and_climbs_back_without_losing_a_request(int uplinks)
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var link = CuttingProxy.Start(tunnel.Entry.Uplink);
        link.RefuseConnections = true;
        var time = new HeldTimers();
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(link.Port, tunnel.Backend.Port) with
            {
                PublicPort = tunnel.Entry.Http.Port,
                Uplinks = UplinkPolicy.Fixed(uplinks),
            },
            time: time);
        await tunnel.Entry.WaitForUplinksAsync(uplinks);
        Assert.Equal(UplinkWay.WebSocket, agent.Events.Routes.Single().Way);
        Assert.NotNull(agent.Events.Routes.Single().Reason);
        await tunnel.ExchangeAsync();

        // It tries the port again, in vain.
        var session = tunnel.Entry.Session;
        var refused = link.ConnectionsRefused.Value;
        await time.Waits.WaitForAsync(1);
        time.EndWaits();
        await link.ConnectionsRefused.WaitForAsync(refused + 1);
        await time.Waits.WaitForAsync(2);
        Assert.Single(agent.Events.Routes);

        // A request that lasts, and then the port is open.
        await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
        await visitor.WriteAsync(
            $"POST /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 200000\r\n\r\n");
        await visitor.WriteAsync(PatternBytes.Window(0, 100_000));
        var detours = session.Tunnel.Uplinks;
        link.RefuseConnections = false;
        time.EndWaits();
        await agent.Events.RouteCount.WaitForAsync(2);
        Assert.Equal(UplinkWay.Direct, agent.Events.Routes.Last().Way);
        await tunnel.ExchangeAsync();
        Assert.NotEmpty(link.Connections);
        await visitor.WriteAsync(PatternBytes.Window(100_000, 100_000));
        var answer = await visitor.ReadHeadAsync();
        Assert.Contains(PatternBytes.Sha256Hex(200_000), (await visitor.ReadBodyAsync(answer)).Text(), StringComparison.Ordinal);

        // The detours end after their last request, and the session is the same.
        await tunnel.Entry.UntilAsync(
            () => session.Tunnel.Uplinks is var now && now.Count == uplinks && !now.Any(detours.Contains), "only direct uplinks");
        Assert.Same(session, tunnel.Entry.Session);
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
        Assert.Equal(uplinks, link.ConnectionsAccepted.Value);
        await tunnel.ExchangeAsync();
        Assert.Equal(0, await agent.StopAsync());
    }

    [Fact]
    public async Task A_lost_session_comes_back_on_the_way_that_works()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var direct = CuttingProxy.Start(tunnel.Entry.Uplink);
        await using var open = CuttingProxy.Start(tunnel.Entry.Http);
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(direct.Port, tunnel.Backend.Port) with { PublicPort = open.Port }, time: new HeldTimers());
        Assert.Equal(UplinkWay.Direct, agent.Events.Routes.Single().Way);
        Assert.Equal(0, open.ConnectionsAccepted.Value);

        direct.RefuseConnections = true;
        direct.CutAll(CutMode.Reset);
        await agent.Events.ReadyCount.WaitForAsync(2);
        Assert.Equal(UplinkWay.WebSocket, agent.Events.Routes.Last().Way);
        await tunnel.ExchangeAsync();

        direct.RefuseConnections = false;
        open.RefuseConnections = true;
        open.CutAll(CutMode.Fin);
        await agent.Events.ReadyCount.WaitForAsync(3);
        Assert.Equal(UplinkWay.Direct, agent.Events.Routes.Last().Way);
        await tunnel.ExchangeAsync();
    }

    [Fact]
    public async Task A_port_that_cuts_each_session_soon_after_its_handshake_is_left_for_a_WebSocket()
    {
        await using var tunnel = await WaysTunnel.StartAsync(
            "Agents:a:TokenHash=" + EntryTokens.HashSetting("s3cret"), "Agents:a:Names=*");
        await using var direct = CuttingProxy.Start(tunnel.Entry.Uplink);
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(direct.Port, tunnel.Backend.Port) with { PublicPort = tunnel.Entry.Http.Port, Token = "s3cret" });
        for (var session = 1; session <= 3; session++)
        {
            await agent.Events.ReadyCount.WaitForAsync(session);
            Assert.Equal(UplinkWay.Direct, agent.Events.Routes.Last().Way);
            direct.CutAll(CutMode.Reset);
        }

        await agent.Events.ReadyCount.WaitForAsync(4);
        Assert.Equal(UplinkWay.WebSocket, agent.Events.Routes.Last().Way);
        Assert.Contains("were cut", agent.Events.Routes.Last().Reason, StringComparison.Ordinal);
        await tunnel.ExchangeAsync();
    }

    [Fact]
    public async Task Where_neither_way_leads_to_the_server_both_are_named()
    {
        using var nobody = new RefusedPort();
        await using var page = RawTcpServer.StartAnswering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        await using var agent = AgentFixture.Start(
            AgentFixture.Options(nobody.Port, 1) with { PublicPort = page.Port, ExitOnFailure = true });
        Assert.Equal(AgentExitCode.ServerUnreachable, await agent.Completion);
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal(ConnectFailureReason.Refused, end.Failure!.Reason);
        Assert.Contains("connection refused", end.Message, StringComparison.Ordinal);
        Assert.Contains($"over WebSocket at 127.0.0.1:{page.Port}", end.Message, StringComparison.Ordinal);
        Assert.Contains("404 Not Found", end.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Of_two_ports_that_refuse_each_is_named_with_its_way()
    {
        using var direct = new RefusedPort();
        using var open = new RefusedPort();
        await using var agent = AgentFixture.Start(
            AgentFixture.Options(direct.Port, 1) with { PublicPort = open.Port, ExitOnFailure = true });
        Assert.Equal(AgentExitCode.ServerUnreachable, await agent.Completion);
        Assert.Equal(
            $"Cannot reach the server at 127.0.0.1:{direct.Port}: connection refused. Is tunnel2-entry running there, and is this its "
                + $"uplink port (12001 by default)? Cannot open an uplink over WebSocket at 127.0.0.1:{open.Port}: connection refused. "
                + "Is the server running there, and is this its public port (443 by default, without TLS 80)?",
            Assert.Single(agent.Events.Ends).Message);
    }

    [Fact]
    public async Task A_forced_way_has_no_other()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        using var nobody = new RefusedPort();
        await using var direct = AgentFixture.Start(
            AgentFixture.Options(nobody.Port, 1) with
            {
                Uplink = UplinkWay.Direct,
                PublicPort = tunnel.Entry.Http.Port,
                ExitOnFailure = true,
            });
        Assert.Equal(AgentExitCode.ServerUnreachable, await direct.Completion);
        await using var webSocket = AgentFixture.Start(tunnel.WebSocket with { PublicPort = nobody.Port, ExitOnFailure = true });
        Assert.Equal(AgentExitCode.ServerUnreachable, await webSocket.Completion);
        var end = Assert.Single(webSocket.Events.Ends);
        Assert.Equal(ConnectFailureReason.Refused, end.Failure!.Reason);
        Assert.StartsWith(
            $"Cannot open an uplink over WebSocket at 127.0.0.1:{nobody.Port}: connection refused.", end.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("uplink port", end.Message, StringComparison.Ordinal);
        Assert.Empty(tunnel.Entry.Directory.Snapshot());
    }

    [Theory]
    [InlineData(true, "changed on the way")]
    [InlineData(false, "WebSocket")]
    public async Task What_a_middlebox_does_to_an_uplink_is_a_named_end_and_the_agent_comes_back(bool isOfServer, string words)
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var middlebox = RewritingProxy.Start(tunnel.Entry.Http);
        await using var agent = await AgentFixture.StartReadyAsync(tunnel.WebSocket with { PublicPort = middlebox.Port });
        await tunnel.ExchangeAsync();
        middlebox.RewritesNext(isOfServer);
        await agent.Events.EndCount.WaitForAsync(1);
        Assert.Contains(words, agent.Events.Ends[0].Message, StringComparison.Ordinal);
        await agent.Events.ReadyCount.WaitForAsync(2);
        await tunnel.ExchangeAsync();
    }
}
