using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

public sealed class RoutingErrorTests
{
    private static readonly TimeSpan _startPhase = TimeSpan.FromSeconds(30);

    [Fact]
    public async Task An_unknown_name_is_offline_while_agents_come_back_and_then_not_found()
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(
            time, "Timeouts:Park=off", "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"), "Agents:a:Names=shop");
        await ExpectAsync(entry, "nobody.localhost", 503, "agent-offline");
        time.Advance(_startPhase);
        await ExpectAsync(entry, "nobody.localhost", 404, "unknown-name");
        await ExpectAsync(entry, "nobody-e1.localhost", 404, "unknown-name");
        await ExpectAsync(entry, "shop.localhost", 503, "agent-offline");
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task A_name_stays_known_for_a_day_after_its_agent_left()
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time, "Timeouts:Park=off");
        time.Advance(_startPhase);
        await ExpectAsync(entry, TunnelFixture.Host, 404, "unknown-name");
        await using (var agent = await RawUplink.ConnectAsAgentAsync(entry.Uplink))
        {
            await agent.Connection.CloseAsync();
        }

        await entry.WaitForSessionsAsync(0);
        await ExpectAsync(entry, TunnelFixture.Host, 503, "agent-offline");
        time.Advance(TimeSpan.FromHours(23));
        await ExpectAsync(entry, TunnelFixture.Host, 503, "agent-offline");
        time.Advance(TimeSpan.FromHours(1));
        await ExpectAsync(entry, TunnelFixture.Host, 404, "unknown-name");
    }

    [Theory]
    [InlineData("web.localhost")]
    [InlineData("WEB.localhost:12000")]
    [InlineData("web-e1.localhost.")]
    public async Task The_log_calls_a_tunnel_that_is_away_by_its_name(string host)
    {
        await using var entry = await EntryFixture.StartAsync(null, "Timeouts:Park=off");
        await ExpectAsync(entry, host, 503, "agent-offline");

        Assert.Contains(
            " for web failed at the ", Assert.Single(entry.Log.All, static line => line.EventId == 2100).Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("localhost", 404, "unknown-host")]
    [InlineData("example.org", 404, "unknown-host")]
    [InlineData("a.b.localhost", 404, "unknown-host")]
    [InlineData("127.0.0.1:80", 404, "unknown-host")]
    [InlineData("", 400, "invalid-host")]
    public async Task A_host_that_is_none_of_ours_is_not_found(string host, int status, string code)
    {
        await using var entry = await EntryFixture.StartAsync();
        await ExpectAsync(entry, host, status, code);
    }

    [Fact]
    public async Task A_name_that_is_offline_may_be_asked_again_and_is_not_cached()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Timeouts:Park=off");
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: "Accept: application/json\r\n");
        Assert.Equal(503, head.StatusCode);
        Assert.Equal("5", head["Retry-After"]);
        Assert.Equal("no-store", head["Cache-Control"]);
        Assert.Equal("application/problem+json", head["Content-Type"]);
        Assert.StartsWith("tunnel2", head["Proxy-Status"], StringComparison.OrdinalIgnoreCase);
        Assert.Contains("destination_unavailable", head["Proxy-Status"], StringComparison.Ordinal);
        using var json = JsonDocument.Parse(body.Bytes);
        Assert.Equal(503, json.RootElement.GetProperty("status").GetInt32());

        var (page, html) = await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: "Accept: text/html,*/*;q=0.8\r\n");
        Assert.Equal("text/html; charset=utf-8", page["Content-Type"]);
        Assert.Contains("<html", html.Text(), StringComparison.Ordinal);

        var (onlyHead, nothing) = await visitor.ExchangeAsync("/", TunnelFixture.Host, "HEAD");
        Assert.Equal(503, onlyHead.StatusCode);
        Assert.True(int.Parse(onlyHead["Content-Length"]!, System.Globalization.CultureInfo.InvariantCulture) > 0);
        Assert.Empty(nothing.Bytes);
    }

    [Fact]
    public async Task An_agent_that_stops_leaves_503_behind()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync(null, "Timeouts:Park=off");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        await ExpectAsync(entry, TunnelFixture.Host, 200, null);
        Assert.Equal(0, await agent.StopAsync());
        await entry.WaitForSessionsAsync(0);
        await ExpectAsync(entry, TunnelFixture.Host, 503, "agent-offline");
    }

    private static async Task ExpectAsync(EntryFixture entry, string host, int status, string? code)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, body) = await visitor.ExchangeAsync("/", host);
        Assert.Equal((status, code), (head.StatusCode, head["Tunnel2-Error"]));
        Assert.Equal(ConnectionEnding.Complete, body.Ending);
    }
}
