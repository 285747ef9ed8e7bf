using System.Net.WebSockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>Agents that come over WebSocket to a public listener.</summary>
[Trait("Engine", "each")]
public sealed class WebSocketUplinkTests
{
    private const string Handshake = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

    private const string Ours = Handshake + "Sec-WebSocket-Protocol: tunnel2.1\r\n";

    [Fact]
    public async Task A_tunnel_works_over_it_and_says_so_at_both_ends()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using (var agent = await AgentFixture.StartReadyAsync(tunnel.WebSocket with { Uplinks = UplinkPolicy.Fixed(3) }))
        {
            await tunnel.Entry.WaitForUplinksAsync(3);
            await tunnel.ExchangeAsync();
            var route = Assert.Single(agent.Events.Routes);
            Assert.Equal((UplinkWay.WebSocket, tunnel.Entry.Http.Port), (route.Way, route.Server.Port));
            await tunnel.Entry.Log.Written.UntilAsync(
                () => tunnel.Entry.Log.All.Any(static line => line.Text.Contains("(WebSocket)", StringComparison.Ordinal)),
                "the server says that an uplink is a WebSocket");
            await tunnel.Entry.UntilAsync(
                () => Scrape(tunnel).Contains("tunnel2_entry_uplinks_websocket 3", StringComparison.Ordinal), "all three are counted");
            await tunnel.Entry.AssertQuietAsync();
            Assert.Equal(0, await agent.StopAsync());
        }

        await tunnel.Entry.WaitForSessionsAsync(0);
        Assert.Contains("tunnel2_entry_uplinks_websocket 0", Scrape(tunnel), StringComparison.Ordinal);
        tunnel.Entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task It_works_with_TLS_and_checks_whom_it_speaks_with()
    {
        using var folder = new TemporaryFolder();
        using var authority = new TestAuthority();
        await File.WriteAllTextAsync(folder["public.pem"], authority.Issue("127.0.0.1"));
        await File.WriteAllTextAsync(folder["ca.pem"], authority.Pem);
        await using var tunnel = await WaysTunnel.StartAsync(
            "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=" + folder["public.pem"]);
        var options = tunnel.WebSocket with
        {
            PublicPort = tunnel.Entry.Https.Port,
            Tls = new TlsOptions { ServerCaFile = folder["ca.pem"] },
        };
        await using (var agent = await AgentFixture.StartReadyAsync(options))
        {
            await tunnel.ExchangeAsync();
        }

        await using var stranger = AgentFixture.Start(options with { Tls = new TlsOptions(), ExitOnFailure = true });
        Assert.Equal(AgentExitCode.ServerUnreachable, await stranger.Completion);
        Assert.Equal(ConnectFailureReason.TlsFailed, stranger.Events.Ends[0].Failure!.Reason);
    }

    [Fact]
    public async Task A_name_keeps_its_own_page_at_the_path_and_cannot_take_the_path_away()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(tunnel.Direct);
        Assert.Null((await tunnel.AskAsync("", TunnelFixture.Host))["Tunnel2-Error"]);
        Assert.Null((await tunnel.AskAsync(Handshake, TunnelFixture.Host))["Tunnel2-Error"]);
        Assert.Null((await tunnel.AskAsync(Handshake + "Sec-WebSocket-Protocol: chat\r\n", TunnelFixture.Host))["Tunnel2-Error"]);
        Assert.Null((await tunnel.AskAsync(Ours, TunnelFixture.Host, "/_tunnel2/uplink/"))["Tunnel2-Error"]);
        Assert.Equal("unknown-host", (await tunnel.AskAsync("", "127.0.0.1"))["Tunnel2-Error"]);
        foreach (var host in new[] { TunnelFixture.Host, "127.0.0.1", "localhost", "elsewhere.example" })
        {
            var head = await tunnel.AskAsync(Ours, host);
            Assert.Equal((101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), (head.StatusCode, head["Sec-WebSocket-Accept"]));
            Assert.Equal("tunnel2.1", head["Sec-WebSocket-Protocol"]);
        }
    }

    [Theory]
    [InlineData("Origin: https://evil.example\r\n" + Ours, 403, "uplink-refused")]
    [InlineData("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: tunnel2.1\r\n", 400, "uplink-handshake")]
    [InlineData(Ours + "Sec-WebSocket-Version: 8\r\n", 400, "uplink-handshake")]
    [InlineData(Ours + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", 400, "uplink-handshake")]
    [InlineData(
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n"
        + "Sec-WebSocket-Protocol: tunnel2.1\r\n",
        400,
        "uplink-handshake")]
    public async Task A_handshake_that_is_not_an_agents_is_refused_and_the_connection_serves_on(string fields, int status, string code)
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
        for (var i = 0; i < 2; i++)
        {
            await visitor.SendRequestAsync("/_tunnel2/uplink", "localhost", "GET", fields);
            var head = await visitor.ReadHeadAsync();
            await visitor.ReadBodyAsync(head);
            Assert.Equal((status, code), (head.StatusCode, head["Tunnel2-Error"]));
        }
    }

    [Fact]
    public async Task A_server_for_others_takes_agents_at_its_public_port_with_a_token_only()
    {
        await using var tunnel = await WaysTunnel.StartAsync(
            "Domain=tunnel.example", "Agents:a:TokenHash=" + EntryTokens.HashSetting("s3cret"), "Agents:a:Names=*");
        await using (var direct = await AgentFixture.StartReadyAsync(tunnel.Direct))
        {
            Assert.Equal(0, await direct.StopAsync());
        }

        await using var stranger = AgentFixture.Start(tunnel.WebSocket with { Name = "other" });
        Assert.Equal(AgentExitCode.Rejected, await stranger.Completion);
        Assert.Equal(nameof(RejectCode.Unauthorized), stranger.Events.Ends[0].Rejection!.Code);
        await using var agent = await AgentFixture.StartReadyAsync(tunnel.WebSocket with { Name = "third", Token = "s3cret" });
    }

    [Theory]
    [InlineData("X-Forwarded-For: 192.0.2.1\r\n", "localhost")]
    [InlineData("Via: 1.1 proxy\r\n", "localhost")]
    [InlineData("", "tunnel.example")]
    public async Task An_agent_that_a_proxy_of_this_machine_lets_in_needs_a_token_too(string fields, string host)
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
        await visitor.SendRequestAsync("/_tunnel2/uplink", host, "GET", Ours + fields);
        Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
        var answer = await UplinkWords.HelloAsync(visitor);
        Assert.Equal(RejectCode.Unauthorized, answer);
    }

    [Fact]
    public async Task A_setting_gives_the_path_back_to_the_tunnels()
    {
        await using var tunnel = await WaysTunnel.StartAsync("Uplink:WebSocket=false");
        Assert.Equal("unknown-host", (await tunnel.AskAsync(Ours, "127.0.0.1"))["Tunnel2-Error"]);
        await using var agent = AgentFixture.Start(tunnel.WebSocket with { ExitOnFailure = true });
        Assert.Equal(AgentExitCode.ServerUnreachable, await agent.Completion);
        Assert.Contains("Uplink:WebSocket=false", agent.Events.Ends[0].Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_foreign_client_may_fragment_and_ping_and_one_that_breaks_the_frames_is_closed_with_a_reason()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        using var client = new ClientWebSocket();
        client.Options.AddSubProtocol("tunnel2.1");
        await client.ConnectAsync(
            new Uri($"ws://127.0.0.1:{tunnel.Entry.Http.Port}/_tunnel2/uplink"), TestContext.Current.CancellationToken);
        var hello = UplinkWords.Hello("web");
        for (var i = 0; i < hello.Length; i++)
        {
            await client.SendAsync(
                hello.AsMemory(i, 1), WebSocketMessageType.Binary, i == hello.Length - 1, TestContext.Current.CancellationToken);
        }

        var buffer = new byte[64 * 1024];
        var answer = await client.ReceiveAsync(buffer.AsMemory(), TestContext.Current.CancellationToken);
        Assert.Equal(WebSocketMessageType.Binary, answer.MessageType);
        Assert.Equal((byte)FrameType.Welcome, buffer[3]);
        await tunnel.Entry.WaitForSessionsAsync(1);
        await client.SendAsync("text"u8.ToArray(), WebSocketMessageType.Text, true, TestContext.Current.CancellationToken);
        while ((answer = await client.ReceiveAsync(buffer.AsMemory(), TestContext.Current.CancellationToken)).MessageType
            != WebSocketMessageType.Close)
        {
            Assert.Equal(WebSocketMessageType.Binary, answer.MessageType);
        }

        Assert.Equal(WebSocketCloseStatus.InvalidMessageType, client.CloseStatus);
        await tunnel.Entry.WaitForSessionsAsync(0);
    }

    [Theory]
    [InlineData(false, "88820000000003E8", "880203E8")]
    [InlineData(true, "88820000000003E8", "880203E8")]
    [InlineData(true, "888000000000", "8800")]
    [InlineData(true, "81810000000061", "880203EB")]
    [InlineData(false, "820161", "880203EA")]
    [InlineData(true, "C28100000000", "880203EA")]
    public async Task An_end_by_the_agent_or_by_what_changes_its_frames_is_answered_by_a_close_and_no_reset(
        bool isSession, string hex, string answer)
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var agent = await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
        await agent.SendRequestAsync("/_tunnel2/uplink", "localhost", "GET", Ours);
        Assert.Equal(101, (await agent.ReadHeadAsync()).StatusCode);
        if (isSession)
        {
            await UplinkWords.WelcomeAsync(agent);
            await tunnel.Entry.WaitForSessionsAsync(1);
        }

        await agent.WriteAsync((byte[])[.. Convert.FromHexString(hex), .. new byte[30_000]]);
        var rest = Convert.ToHexString(await agent.ReadToEndAsync());
        Assert.Equal(ConnectionEnding.Fin, agent.Ending);
        Assert.EndsWith(answer, rest, StringComparison.Ordinal);
        await agent.ShutdownSendAsync();
        await tunnel.Entry.WaitForSessionsAsync(0);
        tunnel.Entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task A_connection_that_says_nothing_ends_with_the_handshakes_time()
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/_tunnel2/uplink", "localhost", "GET", Ours);
        Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
        var ended = visitor.WaitForEndAsync();

        // At a pace at which the server's threads come along: its clock would run far ahead of the end that it has brought about.
        await WaitSignal.UntilAsync(
            () =>
            {
                time.Advance(TimeSpan.FromMilliseconds(250));
                return ended.IsCompleted;
            },
            "the connection has ended");
        Assert.InRange(time.Elapsed, TimeSpan.FromSeconds(10), TimeSpan.FromMinutes(10));
    }

    [Fact]
    public async Task A_stop_of_the_server_drains_it_like_any_uplink()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(tunnel.WebSocket);
        await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
        Assert.Equal(200, (await visitor.ExchangeAsync("/bytes/1000", TunnelFixture.Host)).Head.StatusCode);
        await tunnel.Entry.StopAsync();
        Assert.DoesNotContain(tunnel.Entry.Log.All, static line => line.Text.Contains("are cut", StringComparison.Ordinal));
        tunnel.Entry.Log.AssertNoErrors();
    }

    private static string Scrape(WaysTunnel tunnel) => System.Text.Encoding.UTF8.GetString(tunnel.Entry.Metrics.Collect());
}
