using System.Globalization;
using System.Text.RegularExpressions;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Observability;

/// <summary>What responses say about where their time went.</summary>
public sealed partial class ServerTimingTests
{
    private const string Asks = "Tunnel2-Timing: 1\r\n";

    [Fact]
    public Task A_visitor_that_asks_gets_every_leg_where_that_is_allowed() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (head, body) = await tunnel.ExchangeAsync("/", fields: Asks);
            var legs = Legs().Match(head["Server-Timing"] ?? "");
            Assert.True(legs.Success, head.Text);
            Assert.All(
                legs.Groups.Values.Skip(1), static leg => Assert.InRange(double.Parse(leg.Value, CultureInfo.InvariantCulture), 0, 20_000));
            Assert.Null(head["Tunnel2-Timing"]);
            Assert.Null(body.Request()["Tunnel2-Timing"]);
            Assert.Null((await tunnel.ExchangeAsync("/")).Head["Server-Timing"]);
        },
        new TunnelSetup { Settings = ["ServerTiming=on-request"] });

    [Fact]
    public Task They_are_not_sent_by_default() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (head, _) = await tunnel.ExchangeAsync("/", fields: Asks);
        Assert.Null(head["Server-Timing"]);
        Assert.Null(head["Tunnel2-Timing"]);
    });

    [Fact]
    public Task All_responses_have_them_where_they_shall_and_the_backends_own_stay() => TunnelFixture.RunAsync(
        async connection =>
        {
            while (true)
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(
                    "HTTP/1.1 200 OK\r\nServer-Timing: db;dur=5\r\nTunnel2-Timing: 99,99\r\nContent-Length: 0\r\n\r\n");
            }
        },
        async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            var all = string.Join(", ", head.All("Server-Timing"));
            Assert.StartsWith("db;dur=5, edge;dur=", all, StringComparison.Ordinal);
            Assert.DoesNotContain("backend;dur=0.099", all, StringComparison.Ordinal);
        },
        new TunnelSetup { Settings = ["ServerTiming=always"] });

    [Fact]
    public async Task An_error_of_the_tunnel_says_how_long_the_edge_took()
    {
        await using var entry = await EntryFixture.StartAsync(null, "ServerTiming=always", "Timeouts:Park=100ms");
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, _) = await visitor.ExchangeAsync("/", "nobody.localhost");
        Assert.True(head.StatusCode >= 400);
        Assert.Matches("^edge;dur=[0-9.]+$", head["Server-Timing"]);
    }

    [Theory]
    [InlineData(false, 502, 0)]
    [InlineData(true, 504, 2000)]
    public async Task An_error_behind_the_edge_says_how_long_that_took(bool isSilent, int status, double atLeast)
    {
        using var nobody = new RefusedPort();
        await using var silent = RawTcpServer.Start(static async connection =>
        {
            while (true)
            {
                await connection.ReadHeadAsync();
            }
        });
        await using var entry = await EntryFixture.StartAsync(null, "ServerTiming=always", "Timeouts:BackendHeaders=2s");
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, isSilent ? silent.Port : nobody.Port));
        await agent.Events.ReadyCount.WaitForAsync(1);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, _) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
        Assert.Equal(status, head.StatusCode);
        var legs = Behind().Match(head["Server-Timing"] ?? "");
        Assert.True(legs.Success, head.Text);
        Assert.InRange(double.Parse(legs.Groups[1].Value, CultureInfo.InvariantCulture), atLeast, 20_000);
    }

    [Fact]
    public async Task A_wait_for_the_agent_is_the_edges()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync(
            null, "ServerTiming=always", "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:a:Names=web");
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var clock = System.Diagnostics.Stopwatch.StartNew();
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        await entry.WaitForParkedAsync(1);
        var waits = System.Diagnostics.Stopwatch.StartNew();
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, backend.Port) with { Token = "t" });
        await agent.Events.ReadyCount.WaitForAsync(1);
        var waited = waits.Elapsed;
        var head = await visitor.ReadHeadAsync();
        var legs = Legs().Match(head["Server-Timing"] ?? "");
        Assert.True(legs.Success, head.Text);
        Assert.InRange(
            double.Parse(legs.Groups[1].Value, CultureInfo.InvariantCulture),
            Math.Min(1, waited.TotalMilliseconds / 10),
            clock.Elapsed.TotalMilliseconds);
    }

    [Fact]
    public async Task Sending_the_head_is_the_tunnels_time()
    {
        var clock = new FrameClock();
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync(clock, "ServerTiming=always");
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        await agent.Events.ReadyCount.WaitForAsync(1);
        clock.Follow(entry.Session);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        const int Requests = 20;
        var withoutFrames = 0;
        for (var i = 0; i < Requests; i++)
        {
            var (head, _) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
            var legs = Legs().Match(head["Server-Timing"] ?? "");
            Assert.True(legs.Success, head.Text);
            withoutFrames += legs.Groups[1].Value == "0.000" ? 1 : 0;
        }

        // A few may be beside a frame of the uplink's own.
        Assert.InRange(withoutFrames, Requests * 3 / 4, Requests);
    }

    [GeneratedRegex(@"^edge;dur=([0-9.]+), tunnel;dur=([0-9.]+), agent;dur=([0-9.]+), backend;dur=([0-9.]+)$")]
    private static partial Regex Legs();

    [GeneratedRegex("^edge;dur=[0-9.]+, tunnel;desc=\"and all behind it\";dur=([0-9.]+)$")]
    private static partial Regex Behind();

    /// <summary>A millisecond has passed with each frame that was sent to the agent.</summary>
    private sealed class FrameClock : TimeProvider
    {
        private volatile EntrySession? _session;

        public override long TimestampFrequency => 1000;

        public void Follow(EntrySession session) => _session = session;

        public override long GetTimestamp()
        {
            var frames = 1L;
            foreach (var uplink in _session?.Tunnel.Uplinks ?? [])
            {
                frames += uplink.Statistics.FramesSent;
            }

            return frames;
        }
    }
}
