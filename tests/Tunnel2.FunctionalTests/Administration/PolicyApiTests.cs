using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Administration;

/// <summary>Policies that the server keeps, with agents, visitors and restarts.</summary>
public sealed class PolicyApiTests : IDisposable
{
    private const string DenyA = """[ { "path": "/a", "deny": true } ]""";
    private readonly TemporaryFolder _folder = new();
    private readonly ManualTimeProvider _time = new();

    private string Folder => Path.Combine(_folder["state"], "policies");

    [Fact]
    public async Task A_policy_holds_at_once_for_a_session_that_continues_and_until_it_is_removed()
    {
        var arrived = new WaitSignal("the first request has arrived");
        var mayAnswer = new WaitSignal("the backend may answer");
        await using var backend = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            arrived.Set();
            await mayAnswer.WaitAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone");
            await connection.WaitForEndAsync();
        });
        await using var entry = await StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        using var api = new AdminApi(entry);
        await using var early = await RawHttpClient.ConnectAsync(entry.Http);
        await early.SendRequestAsync("/a", TunnelFixture.Host);
        await arrived.WaitAsync();
        var id = entry.Session.DisplayId;
        var (status, json, _) = await api.SendAsync("PUT", "policies/names/web", "// remarks\n" + DenyA.Replace("} ]", "}, ]"));
        Assert.Equal((200, "name", "web", 1), (
            status, Text(Info(json!.Value), "scope"), Text(Info(json.Value), "name"), Info(json.Value).GetProperty("sessions").GetInt32()));
        Assert.Equal("""[{"path":"/a","deny":true}]""", json.Value.GetProperty("policy").GetRawText());
        Assert.Equal(403, await StatusAsync(entry, "/a"));

        // What was under way is answered, and the session is the same.
        mayAnswer.Set();
        Assert.Equal(200, (await early.ReadHeadAsync()).StatusCode);
        Assert.Equal(200, await StatusAsync(entry, "/b"));
        Assert.Equal(id, entry.Session.DisplayId);
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));

        // The same once more is no change.
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/web", DenyA)).Status);
        Assert.Equal(1, Assert.Single(List(await api.GetAsync("policies"))).GetProperty("rows").GetInt32());
        Assert.Equal(204, (await api.SendAsync("DELETE", "policies/names/web")).Status);
        Assert.Equal(200, await StatusAsync(entry, "/a"));
        await api.RefusedAsync(404, "no-policy", "DELETE", "policies/names/web");
        await api.RefusedAsync(404, "no-policy", "GET", "policies/names/web");
        Assert.Equal(
            ["sets policy of name web, rows: 1", "removes policy of name web"],
            entry.Log.All.Where(static line => line.EventId == 2230).Select(static line => line.Text.Split(") ")[^1].Trim()));
        Assert.Empty(Directory.GetFiles(Path.Combine(Folder, "names")));
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task The_strictest_of_settings_agent_token_name_and_tunnel_wins()
    {
        var configured = Path.Combine(_folder["settings"], "policy.json");
        Directory.CreateDirectory(_folder["settings"]);
        await File.WriteAllTextAsync(configured, Rows("settings"));
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await StartAsync(
            $"Agents:Web:TokenHash={EntryTokens.HashSetting("old")}", "Agents:Web:Names=web", "Agents:Web:Policy=" + configured);
        using var api = new AdminApi(entry);
        var token = await api.CreateTokenAsync("""{"name":"ci","agent":"Web","names":["web"]}""");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port) with
        {
            Token = token,
            Access = new AccessRules { Policy = System.Text.Encoding.UTF8.GetBytes(Rows("tunnel")) },
        });
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/agents/WEB", Rows("agent"))).Status);
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/tokens/ci", Rows("token"))).Status);
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/web", Rows("name"))).Status);
        foreach (var who in new[] { "settings", "agent", "token", "name", "tunnel" })
        {
            Assert.Equal(403, await StatusAsync(entry, "/" + who));
        }

        Assert.Equal(200, await StatusAsync(entry, "/other"));
        var both = await api.GetAsync("policies/agents/web");
        Assert.Contains("/settings", both.GetProperty("ofSettings").GetRawText(), StringComparison.Ordinal);
        Assert.Contains("/agent", both.GetProperty("policy").GetRawText(), StringComparison.Ordinal);
        Assert.Equal(["agent web 2 2", "token ci 2 0", "name web 2 0"], List(await api.GetAsync("policies")).Select(static one =>
            $"{Text(one, "scope")} {Text(one, "name")} {one.GetProperty("rows")} {one.GetProperty("rowsOfSettings")}"));

        // That of the settings cannot be taken away here.
        Assert.Equal(204, (await api.SendAsync("DELETE", "policies/agents/web")).Status);
        Assert.Equal((200, 403), (await StatusAsync(entry, "/agent"), await StatusAsync(entry, "/settings")));
        await api.RefusedAsync(404, "no-policy", "DELETE", "policies/agents/web");
    }

    [Fact]
    public async Task Policies_outlive_a_restart_and_a_file_that_is_broken_closes_its_tunnels_alone()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using (var entry = await StartAsync())
        {
            using var api = new AdminApi(entry);
            await using var uplink = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "web");
            await using var second = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "shop");
            await entry.WaitForSessionsAsync(2);
            Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/web", DenyA)).Status);
            Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/shop", DenyA)).Status);
        }

        await File.WriteAllTextAsync(Path.Combine(Folder, "names", "shop.json"), "[ { ");
        await using var again = await StartAsync();
        await again.Log.WaitForAsync(2235);
        await using var web = await AgentFixture.StartReadyAsync(AgentFixture.Options(again.Uplink.Port, backend.Port));
        await using var shop = await AgentFixture.StartReadyAsync(AgentFixture.Options(again.Uplink.Port, backend.Port, "shop"));
        Assert.Equal((403, 200), (await StatusAsync(again, "/a"), await StatusAsync(again, "/b")));
        Assert.Equal(403, await StatusAsync(again, "/b", "shop.localhost"));
        using var next = new AdminApi(again);
        Assert.Contains("JSON", Text(Info(await next.GetAsync("policies/names/shop")), "problem"), StringComparison.Ordinal);

        // A new one repairs it; a file that is removed by hand is gone too.
        Assert.Equal(200, (await next.SendAsync("PUT", "policies/names/shop", DenyA)).Status);
        Assert.Equal((403, 200), (
            await StatusAsync(again, "/a", "shop.localhost"), await StatusAsync(again, "/b", "shop.localhost")));
        File.Delete(Path.Combine(Folder, "names", "shop.json"));
        _time.Advance(ReloadLoop.Period);
        await again.UntilAsync(
            () => again.Directory.Snapshot().Single(static session => session.Name == "shop").Policy is null, "the policy is gone");
        Assert.Equal(200, await StatusAsync(again, "/a", "shop.localhost"));
    }

    [Fact]
    public async Task A_change_of_one_policy_fills_no_bucket_of_another()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port) with
        {
            Access = new AccessRules { Policy = """[{"rate-limit":{"rate":"1/hour","burst":1,"per":"tunnel"}}]"""u8.ToArray() },
        });
        using var api = new AdminApi(entry);
        Assert.Equal((200, 429), (await StatusAsync(entry, "/b"), await StatusAsync(entry, "/b")));
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/web", DenyA)).Status);
        Assert.Equal((429, 403), (await StatusAsync(entry, "/b"), await StatusAsync(entry, "/a")));
        Assert.Equal(204, (await api.SendAsync("DELETE", "policies/names/web")).Status);
        Assert.Equal(429, await StatusAsync(entry, "/b"));
    }

    [Fact]
    public async Task A_policy_of_a_domain_holds_for_the_wildcard_that_serves_it_and_for_no_other_domain_of_the_wildcard()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await StartAsync(
            $"Agents:web:TokenHash={EntryTokens.HashSetting("t")}", "Agents:web:Names=*.example.org");
        using var api = new AdminApi(entry);

        // Before its session too: the list of the agent has it.
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/early.example.org", DenyA)).Status);
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, backend.Port, "*.example.org") with
            {
                Token = "t",
                Access = new AccessRules
                {
                    Policy = """[{"path":"/slow","rate-limit":{"rate":"1/hour","burst":2,"per":"tunnel"}}]"""u8.ToArray(),
                },
            });
        Assert.Equal((403, 200), (await StatusAsync(entry, "/a", "early.example.org"), await StatusAsync(entry, "/a", "b.example.org")));
        Assert.Equal(200, await StatusAsync(entry, "/slow", "b.example.org"));

        var (status, json, _) = await api.SendAsync("PUT", "policies/names/B.example.org", DenyA);
        Assert.Equal((200, 1), (status, Info(json!.Value).GetProperty("sessions").GetInt32()));
        Assert.Equal((403, 200), (await StatusAsync(entry, "/a", "b.Example.org.:80"), await StatusAsync(entry, "/b", "b.example.org")));
        Assert.Equal(200, await StatusAsync(entry, "/a", "c.example.org"));

        // What the tunnel limits is limited once for all of its domains, and a change of one fills no bucket.
        Assert.Equal(200, await StatusAsync(entry, "/slow", "c.example.org"));
        Assert.Equal(429, await StatusAsync(entry, "/slow", "b.example.org"));
        Assert.Equal(204, (await api.SendAsync("DELETE", "policies/names/b.example.org")).Status);
        Assert.Equal((200, 429), (await StatusAsync(entry, "/a", "b.example.org"), await StatusAsync(entry, "/slow", "b.example.org")));
        Assert.Equal(403, await StatusAsync(entry, "/a", "early.example.org"));
        await api.RefusedAsync(404, "no-name", "PUT", "policies/names/a.b.example.net", DenyA);

        // The tunnel is 'web' here, whatever domains a list has: under its host the policy would protect nothing.
        await api.CreateTokenAsync("""{"name":"any","names":["*.*"]}""");
        foreach (var name in new[] { "web.localhost", "WEB.localhost", "*.web.localhost" })
        {
            var refusal = await api.RefusedAsync(404, "no-name", "PUT", "policies/names/" + name, DenyA);
            Assert.Contains("a name without a dot", Text(refusal, "detail"), StringComparison.Ordinal);
        }

        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/a.b.example.net", DenyA)).Status);
        Assert.Equal(0, agent.Events.EndCount.Value);
    }

    [Fact]
    public async Task A_wildcard_of_TLS_covers_no_domain_that_has_a_policy()
    {
        await using var entry = await StartAsync(
            $"Agents:web:TokenHash={EntryTokens.HashSetting("t")}", "Agents:web:Names=*.example.org", "Tls:Listen=127.0.0.1:0");
        using var api = new AdminApi(entry);
        var options = AgentFixture.Options(entry.Uplink.Port, 9, "*.example.org") with { Token = "t", Kind = SessionKind.Tls };
        options = options with { Upstream = options.Upstream with { IsRaw = true } };
        await using (var agent = await AgentFixture.StartReadyAsync(options))
        {
            var problem = await api.RefusedAsync(409, "not-http", "PUT", "policies/names/a.example.org", DenyA);
            Assert.Contains("*.example.org is a tunnel of TLS", Text(problem, "detail"), StringComparison.Ordinal);
            Assert.Equal(0, agent.Events.EndCount.Value);
        }

        await entry.WaitForSessionsAsync(0);
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/a.example.org", DenyA)).Status);
        await using var refused = AgentFixture.Start(options);
        await refused.Events.EndCount.WaitForAsync(1);
        Assert.Contains("a policy for a.example.org", refused.Events.Ends[0].Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task No_tunnel_of_TCP_ends_by_a_policy()
    {
        await using var entry = await StartAsync(TcpTunnel.Ports(1));
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, 9) with { Kind = SessionKind.Tcp });
        using var api = new AdminApi(entry);
        var problem = await api.RefusedAsync(409, "not-http", "PUT", "policies/names/web", DenyA);
        Assert.Contains("web is a tunnel of TCP", Text(problem, "detail"), StringComparison.Ordinal);
        Assert.False(Directory.Exists(Folder));
        Assert.Equal(0, agent.Events.EndCount.Value);
    }

    [Theory]
    [InlineData("names/none", DenyA, 404, "no-name", "")]
    [InlineData("names/a_b", DenyA, 404, "no-name", "")]
    [InlineData("names/web-e1", DenyA, 404, "no-name", "")]
    [InlineData("names/..%2fweb", DenyA, 404, "no-name", "")]
    [InlineData("tokens/none", DenyA, 404, "no-token", "")]
    [InlineData("tokens/..%2f..%2fweb", DenyA, 404, "no-token", "")]
    [InlineData("agents/none", DenyA, 404, "no-agent", "")]
    [InlineData("agents/..%2f..%2fweb", DenyA, 404, "no-agent", "in the settings only")]
    [InlineData("others/web", DenyA, 404, "not-found", "")]
    [InlineData("names/web", "", 400, "policy", "is not JSON")]
    [InlineData("names/web", "[]", 400, "policy", "at least one")]
    [InlineData("names/web", "{", 400, "policy", "is not JSON")]
    [InlineData("names/web", """[{"path":"/\ud800","deny":true}]""", 400, "policy", "not UTF-8")]
    [InlineData("names/web", """[{"\ud800":true}]""", 400, "policy", "not UTF-8")]
    [InlineData("names/web", """[{"country":"DE","deny":true}]""", 400, "policy", "CountryHeader")]
    [InlineData("names/web", """[{"deny":true},{"path":"/a","deny":true}]""", 400, "policy", "row 2 (line 1): no request reaches it")]
    public async Task Bad_input_is_refused_with_its_reason_and_changes_nothing(
        string path, string body, int status, string code, string words)
    {
        await using var entry = await StartAsync();
        await using var uplink = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "web");
        await entry.WaitForSessionsAsync(1);
        using var api = new AdminApi(entry);
        var problem = await api.RefusedAsync(status, code, "PUT", "policies/" + path, body);
        Assert.Contains(words, Text(problem, "detail"), StringComparison.Ordinal);
        Assert.False(Directory.Exists(Folder));
        Assert.Null(entry.Session.Policy);
        Assert.DoesNotContain(entry.Log.All, static line => line.EventId == 2230);
        entry.Log.AssertNoErrors();
    }

    [Theory]
    [InlineData("PUT", "If-Match", "\"other\"")]
    [InlineData("PUT", "If-None-Match", "*")]
    [InlineData("DELETE", "If-Match", "*")]
    [InlineData("DELETE", "If-Unmodified-Since", "Tue, 01 Dec 2020 00:00:00 GMT")]
    public async Task A_change_under_a_condition_that_is_not_looked_at_is_not_made(string method, string field, string value)
    {
        await using var entry = await StartAsync();
        await using var uplink = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "web");
        await entry.WaitForSessionsAsync(1);
        using var api = new AdminApi(entry);
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/web", DenyA)).Status);
        var body = method == "PUT" ? "[ { \"path\": \"/b\", \"deny\": true } ]" : null;
        await api.RefusedAsync(412, "condition", method, "policies/names/web", body, fields: (field, value));
        Assert.Equal(DenyA.Replace(" ", ""), (await api.GetAsync("policies/names/web")).GetProperty("policy").GetRawText());
    }

    [Fact]
    public async Task All_mistakes_are_said_at_once_and_the_policy_before_stays()
    {
        await using var entry = await StartAsync();
        await using var uplink = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "web");
        await entry.WaitForSessionsAsync(1);
        using var api = new AdminApi(entry);
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/web", DenyA)).Status);
        var problem = await api.RefusedAsync(
            400, "policy", "PUT", "policies/names/web",
            """
            [
              { "path": "a", "deny": true },
              { "allow": true, "deny": true },
              { "rate-limit": { "rate": "0/second" } }
            ]
            """);
        Assert.Equal([1, 2, 3], problem.GetProperty("mistakes").EnumerateArray().Select(
            static one => int.Parse(one.GetString()!.Split(' ')[1], System.Globalization.CultureInfo.InvariantCulture)));
        Assert.Equal(DenyA.Replace(" ", ""), (await api.GetAsync("policies/names/web")).GetProperty("policy").GetRawText());
        await api.RefusedAsync(415, "not-json", "PUT", "policies/names/web", DenyA, "text/plain");
        await using (var endless = await RawHttpClient.ConnectAsync(entry.Admin))
        {
            await endless.WriteAsync(
                "PUT /api/v1/policies/names/web HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                + $"Content-Length: {10 * 1024 * 1024}\r\n\r\n" + new string(' ', 64 * 1024));
            Assert.Equal(413, (await endless.ReadHeadAsync()).StatusCode);
        }

        var rows = string.Join(',', Enumerable.Range(0, Policy.MaxRows + 1).Select(static i => $$"""{"path":"/{{i}}","deny":true}"""));
        await api.RefusedAsync(400, "policy", "PUT", "policies/names/web", $"[{rows}]");
        Assert.Equal(DenyA.Replace(" ", ""), (await api.GetAsync("policies/names/web")).GetProperty("policy").GetRawText());
        Assert.Single(entry.Log.All, static line => line.EventId == 2230);
    }

    [Fact]
    public async Task There_is_a_most_of_policies_and_a_folder_that_cannot_be_written_refuses_the_change()
    {
        await using var entry = await StartAsync($"Agents:a:TokenHash={EntryTokens.HashSetting("t")}", "Agents:a:Names=n*");
        using var api = new AdminApi(entry);
        var store = new PolicyStore(_folder["state"], knowsCountries: false);
        var policy = Tunnel2.Policies.Reading.PolicyReader.Read(System.Text.Encoding.UTF8.GetBytes(DenyA)).Policy!;
        for (var i = 0; i < PolicyStore.MaxPolicies; i++)
        {
            store.Save(new PolicyTarget(PolicyScope.Name, $"n{i}"), policy);
        }

        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2236);
        await api.RefusedAsync(409, "too-many", "PUT", "policies/names/next", DenyA);
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/n1", Rows("x"))).Status);

        // The folder is there at the start, and a file afterwards: as a volume that is taken away would, it takes no file any more.
        Directory.CreateDirectory(_folder["lost"]);
        await using var blocked = await EntryFixture.StartAsync(null, "StateFolder=" + _folder["lost"]);
        Directory.Delete(_folder["lost"], recursive: true);
        await File.WriteAllTextAsync(_folder["lost"], "a file");
        await using var uplink = await RawUplink.ConnectAsAgentAsync(blocked.Uplink, "web");
        await blocked.WaitForSessionsAsync(1);
        using var other = new AdminApi(blocked);
        await other.RefusedAsync(503, "state-folder", "PUT", "policies/names/web", DenyA);
        Assert.Null(blocked.Session.Policy);
    }

    public void Dispose() => _folder.Dispose();

    private static string Rows(string who) => $$"""[{"path":"/{{who}}","deny":true},{"path":"/**","method":"TRACE","deny":true}]""";

    private static JsonElement Info(JsonElement document) => document.GetProperty("info");

    private static JsonElement.ArrayEnumerator List(JsonElement document) => document.GetProperty("policies").EnumerateArray();

    private static string Text(JsonElement element, string member) => element.GetProperty(member).GetString()!;

    private static async Task<int> StatusAsync(EntryFixture entry, string target, string host = TunnelFixture.Host)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        return (await visitor.ExchangeAsync(target, host)).Head.StatusCode;
    }

    private Task<EntryFixture> StartAsync(params string[] settings) =>
        EntryFixture.StartAsync(_time, ["StateFolder=" + _folder["state"], "Uplink:FailuresPerMinute=0", .. settings]);
}
