using System.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.RateLimits;

/// <summary>Sessions whose token has a tier, with the agent that people run.</summary>
[Trait("Engine", "each")]
public sealed class RateLimitTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly ManualTimeProvider _time = new();

    [Fact]
    public async Task A_flooded_free_session_gets_429_for_what_exceeds_its_share_and_another_session_nothing_of_it()
    {
        const int Flood = 400;
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:small:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:small:Tier=free");
        await using var small = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, backend.Port, "small") with { Token = "t" });
        await using var other = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port, "other"));
        await using var flood = await RawHttpClient.ConnectAsync(entry.Http);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var served = 0;
        var clock = Stopwatch.StartNew();
        for (var i = 0; i < Flood; i++)
        {
            var (head, _) = await flood.ExchangeAsync("/echo", "small.localhost");
            if (head.StatusCode == 200)
            {
                served++;
            }
            else
            {
                Assert.Equal((429, "1", "rate-limit"), (head.StatusCode, head["Retry-After"], head["Tunnel2-Error"]));
                Assert.Equal("\"tunnel\";q=10;w=1", head["RateLimit-Policy"]);
                Assert.StartsWith("\"tunnel\";r=0;t=", head["RateLimit"], StringComparison.Ordinal);
            }

            var (unharmed, _) = await visitor.ExchangeAsync("/echo", "other.localhost");
            Assert.Equal(200, unharmed.StatusCode);
            Assert.Null(unharmed["RateLimit"]);
        }

        Assert.InRange(served, 10, 10 + (clock.Elapsed.TotalSeconds * 10) + 1);
        var metrics = await MetricsOf(entry);
        Assert.Contains($"tunnel2_entry_rate_limited_total{{tunnel2_tier=\"free\"}} {Flood - served}\n", metrics, StringComparison.Ordinal);
        entry.Log.AssertNoErrors();
        Assert.DoesNotContain(entry.Log.All, static line => line.EventId == 2100);
    }

    [Fact]
    public async Task What_is_left_is_in_the_answers_of_a_limited_session()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:a:Tier=hourly", "Tiers:hourly:RequestsPerSecond=1",
            "Tiers:hourly:Burst=3600");
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, backend.Port) with { Token = "t" });
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, _) = await visitor.ExchangeAsync("/echo", TunnelFixture.Host);
        Assert.Equal(200, head.StatusCode);
        Assert.Equal("\"tunnel\";q=3600;w=3600", head["RateLimit-Policy"]);
        Assert.Equal("\"tunnel\";r=3599;t=1", head["RateLimit"]);
    }

    [Fact]
    public async Task Changed_settings_change_the_tier_of_sessions_that_run()
    {
        Write("tiny", burst: 1);
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await using var entry = await EntryFixture.StartAsync(new SettingsSource([_folder["appsettings.json"]], []), _time);
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, backend.Port) with { Token = "t" });
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await UntilPolicyAsync(visitor, "\"tunnel\";q=1;w=1");

        Write("tiny", burst: 5);
        _time.Advance(ReloadLoop.Period);
        await UntilPolicyAsync(visitor, "\"tunnel\";q=5;w=5");

        Write("enterprise", burst: 5);
        _time.Advance(ReloadLoop.Period);
        await UntilPolicyAsync(visitor, null);
        for (var i = 0; i < 20; i++)
        {
            Assert.Equal(200, (await visitor.ExchangeAsync("/echo", TunnelFixture.Host)).Head.StatusCode);
        }
    }

    [Fact]
    public async Task A_request_that_waited_for_its_agent_counts_once()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:a:Tier=slow", "Agents:a:Names=web",
            "Tiers:slow:RequestsPerSecond=1", "Tiers:slow:Burst=1000");
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/echo", TunnelFixture.Host);
        await entry.WaitForParkedAsync(1);
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, backend.Port) with { Token = "t" });
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(200, head.StatusCode);
        Assert.Equal("\"tunnel\";r=999;t=1", head["RateLimit"]);
    }

    public void Dispose() => _folder.Dispose();

    private static async Task UntilPolicyAsync(RawHttpClient visitor, string? policy)
    {
        string? shown;
        do
        {
            shown = (await visitor.ExchangeAsync("/echo", TunnelFixture.Host)).Head["RateLimit-Policy"];
        }
        while (shown != policy);
    }

    private static async Task<string> MetricsOf(EntryFixture entry)
    {
        await using var admin = await RawHttpClient.ConnectAsync(entry.Admin);
        return (await admin.ExchangeAsync("/metrics", "localhost")).Body.Text();
    }

    private void Write(string tier, int burst) => File.WriteAllText(_folder["appsettings.json"], $$"""
        { "Tunnel2": { "Public": { "HttpListen": "127.0.0.1:0" }, "Uplink": { "Listen": "127.0.0.1:0" },
          "Admin": { "Listen": "127.0.0.1:0" },
          "Tiers": { "tiny": { "RequestsPerSecond": 1, "Burst": {{burst}} } },
          "Agents": { "a": { "TokenHash": "{{EntryTokens.HashSetting("t")}}", "Tier": "{{tier}}" } } } }
        """);
}
