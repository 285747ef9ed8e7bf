using System.Net;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Live;

/// <summary>What a whole server sends to the pages of the dashboard.</summary>
public sealed class DashboardChannelTests
{
    [Fact]
    public Task A_page_gets_the_server_its_agents_its_load_and_each_request() => TunnelFixture.RunAsync(async (TunnelFixture tunnel) =>
    {
        using var page = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
        await page.SubscribeAsync("node.>");
        var info = (await page.ReceiveUntilAsync(static m => IsOf(m, "node.info"))).GetProperty("messages")[0].GetProperty("data");
        Assert.Matches("^[0-9a-f]{16}$", info.GetProperty("build").GetString());
        Assert.Equal("backend", info.GetProperty("errors").GetProperty("backend-refused").GetProperty("leg").GetString());

        var load = await MessageAsync(page, "node.load");
        Assert.Equal(tunnel.Entry.Loops.Count, load.GetProperty("loops").GetArrayLength());
        Assert.Equal(1, load.GetProperty("uplinks").GetInt32());
        Assert.True(load.GetProperty("memoryBytes").GetInt64() > 1_000_000);
        Assert.True(load.GetProperty("guard").GetProperty("connections").GetInt32() >= 1);

        var agent = (await MessageAsync(page, "node.agents")).GetProperty("agents")[0];
        Assert.Equal(("web", true), (agent.GetProperty("session").GetString(), agent.GetProperty("online").GetBoolean()));
        Assert.Equal(1, agent.GetProperty("uplinks").GetArrayLength());

        await tunnel.ExchangeAsync("/status/418?secret=1");
        var request = (await MessageAsync(page, "node.requests")).GetProperty("requests")[0];
        Assert.Equal(("web", "/status/418"), (request.GetProperty("session").GetString(), request.GetProperty("target").GetString()));
        Assert.Equal(418, request.GetProperty("status").GetInt32());
    });

    [Fact]
    public Task A_tier_and_what_it_refused_are_shown_with_the_agent() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            var refused = 0;
            while (refused == 0)
            {
                // A slow machine earns a token in between.
                refused += (await tunnel.ExchangeAsync("/status/200")).Head.StatusCode == 429 ? 1 : 0;
            }

            using var page = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            await page.SubscribeAsync("node.agents");
            JsonElement agent;
            do
            {
                // One may be under way that was made before.
                agent = (await MessageAsync(page, "node.agents")).GetProperty("agents")[0];
            }
            while (agent.GetProperty("refused").GetInt32() == 0);

            Assert.Equal(("one", 1, 1), (
                agent.GetProperty("tier").GetString(), agent.GetProperty("perSecond").GetInt32(), agent.GetProperty("refused").GetInt32()));
        },
        new TunnelSetup
        {
            Settings =
            [
                "Tiers:one:RequestsPerSecond=1", "Tiers:one:Burst=1", "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"),
                "Agents:a:Tier=one",
            ],
            Agent = static options => options with { Token = "t" },
        });

    [Fact]
    public Task Who_may_visit_and_how_many_were_refused_is_shown_with_the_agent() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            using var page = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            await page.SubscribeAsync("node.>");
            var info = (await page.ReceiveUntilAsync(static m => IsOf(m, "node.info"))).GetProperty("messages")[0].GetProperty("data");
            Assert.True(info.GetProperty("errors").GetProperty("login-required").GetProperty("refusal").GetBoolean());
            Assert.False(info.GetProperty("errors").GetProperty("rate-limit").TryGetProperty("refusal", out _));
            for (var i = 0; i < 5; i++)
            {
                Assert.Equal(401, (await tunnel.ExchangeAsync("/status/200")).Head.StatusCode);
            }

            JsonElement access;
            do
            {
                access = (await MessageAsync(page, "node.agents")).GetProperty("agents")[0].GetProperty("access");
            }
            while (access.GetProperty("refused").GetInt32() < 5);

            Assert.Equal((true, false), (access.GetProperty("login").GetBoolean(), access.GetProperty("addresses").GetBoolean()));
        },
        new TunnelSetup
        {
            Agent = static options => options with
            {
                Access = new AccessRules
                {
                    Users = [new AccessUser("alice", PasswordHash.Create("secret", PasswordHash.LeastIterations))],
                },
            },
        });

    [Fact]
    public async Task Certificates_come_with_their_ends_and_refused_ones_with_their_reasons()
    {
        using var folder = new TemporaryFolder();
        using var state = new TemporaryFolder();
        using var authority = new TestAuthority();
        File.WriteAllText(folder["web.pem"], authority.Issue("web.localhost", to: 5));
        File.WriteAllText(folder["broken.pem"], "no PEM at all");
        await using var entry = await EntryFixture.StartAsync(
            null, "Public:HttpsListen=127.0.0.1:0", "Public:CertificateFolder=" + folder["."], "StateFolder=" + state["state"]);
        using var page = await Subscriber.ConnectAsync(entry.Admin);
        await page.SubscribeAsync("node.>");
        var load = await MessageAsync(page, "node.load");
        var certificates = load.GetProperty("certificates").EnumerateArray().ToArray();
        Assert.Equal(certificates.Length, load.GetProperty("certificateCount").GetInt32());
        var web = certificates.Single(static one => one.GetProperty("origin").GetString() == "folder");
        Assert.Equal(("visitors", "web.localhost"), (web.GetProperty("use").GetString(), web.GetProperty("names").GetString()));
        Assert.Contains(certificates, static one => one.GetProperty("origin").GetString() == "self-made");
        var refused = Assert.Single(load.GetProperty("refusedCertificates").EnumerateArray());
        Assert.Equal(("visitors", "broken.pem"), (refused.GetProperty("use").GetString(), refused.GetProperty("name").GetString()));
        Assert.NotEmpty(refused.GetProperty("reason").GetString()!);
        Assert.Equal(1, load.GetProperty("refusedCount").GetInt32());

        // Alerts come when they change, and with the snapshot of later subscribers.
        using var later = await Subscriber.ConnectAsync(entry.Admin);
        await later.SubscribeAsync("node.alerts");
        await later.ReceiveUntilAsync(static m => IsOf(m, "node.alerts")
            && m.GetRawText() is var text && text.Contains("\"certificate\"", StringComparison.Ordinal)
            && text.Contains("\"certificate-refused\"", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Wrong_tokens_of_an_address_are_limited()
    {
        // The clock is stopped: no attempt is earned back in between.
        await using var entry = await EntryFixture.StartAsync(
            new ManualTimeProvider(), "Admin:Token=s3cret", "Uplink:FailuresPerMinute=2");
        using var client = new HttpClient();
        var statuses = new List<HttpStatusCode>();
        foreach (var token in new[] { "a", "b", "s3cret" })
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, new Uri($"http://{entry.Admin}/metrics"));
            request.Headers.Authorization = new("Bearer", token);
            using var response = await client.SendAsync(request, TestContext.Current.CancellationToken);
            statuses.Add(response.StatusCode);
        }

        Assert.Equal([HttpStatusCode.Unauthorized, HttpStatusCode.Unauthorized, HttpStatusCode.TooManyRequests], statuses);
    }

    [Fact]
    public async Task A_page_of_a_session_gets_what_happened_before_it_was_opened()
    {
        await using var entry = await EntryFixture.StartAsync();

        // Times that are still to come: the server's clock makes no record late, and the later one closes the windows of the first.
        var then = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + 5_000;
        Publish(entry, then);
        Publish(entry, then + 60_000);
        using var page = await Subscriber.ConnectAsync(entry.Admin);
        await page.SubscribeAsync("session.web.history");
        await page.ReceiveUntilAsync(m => SamplesOf(m).Any(sample =>
            sample.GetProperty("startMs").GetInt64() == then - (then % 10_000) && sample.GetProperty("requests").GetInt32() == 1
            && sample.GetProperty("errorsByCode").GetProperty("backend-5xx").GetInt32() == 1));
    }

    [Fact]
    public async Task The_token_for_metrics_reads_metrics_and_nothing_else_of_a_running_server()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Admin:Token=s3cret", "Admin:MetricsToken=scrape", "Uplink:FailuresPerMinute=2");
        using var client = new HttpClient();
        var answers = new List<(string Path, HttpStatusCode Status)>();
        foreach (var path in new[] { "/metrics", "/live", "/api/sessions", "/metrics" })
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, new Uri($"http://{entry.Admin}{path}"));
            request.Headers.Authorization = new("Bearer", "scrape");
            using var response = await client.SendAsync(request, TestContext.Current.CancellationToken);
            answers.Add((path, response.StatusCode));
        }

        Assert.Equal(
            [
                ("/metrics", HttpStatusCode.OK), ("/live", HttpStatusCode.Unauthorized), ("/api/sessions", HttpStatusCode.Unauthorized),
                ("/metrics", HttpStatusCode.TooManyRequests),
            ],
            answers);
    }

    private static void Publish(EntryFixture entry, long endedMs)
    {
        var ring = entry.Live.Ring!;
        var record = new RequestRecord
        {
            SessionName = "web"u8,
            Target = "/"u8,
            StartedUnixMicroseconds = endedMs * 1000,
            Status = 503,
        };
        var payload = new byte[ring.MaxPayload];
        var length = RequestRecordCodec.Encode(payload, record);
        Assert.Equal(PublishStatus.Published, ring.CreateProducer().TryPublish((ushort)RecordType.Request, payload.AsSpan(0, length)));
    }

    /// <summary>The samples of a history, in any message that has some.</summary>
    private static IEnumerable<JsonElement> SamplesOf(JsonElement message)
    {
        if (!IsOf(message, "session.web.history"))
        {
            return [];
        }

        var parts = message.TryGetProperty("messages", out var messages)
            ? messages.EnumerateArray().Select(static one => one.GetProperty("data"))
            : [message.GetProperty("data")];
        return parts.SelectMany(
            static data => data.TryGetProperty("samples", out var samples) ? [.. samples.EnumerateArray()] : new[] { data });
    }

    private static async Task<JsonElement> MessageAsync(Subscriber page, string channel) =>
        (await page.ReceiveUntilAsync(m => IsOf(m, channel) && m.GetProperty("type").GetString() == "message")).GetProperty("data");

    private static bool IsOf(JsonElement message, string channel) =>
        message.TryGetProperty("channel", out var name) && name.GetString() == channel
            && message.GetProperty("type").GetString() != "subscribed";
}
