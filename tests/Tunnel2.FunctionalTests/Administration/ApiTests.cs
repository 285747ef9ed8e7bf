using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Inspection.Serving;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Administration;

/// <summary>The API of administration, over a real connection.</summary>
public sealed class ApiTests
{
    [Fact]
    public async Task Sessions_are_listed_in_pages_and_by_filters()
    {
        await using var entry = await EntryFixture.StartAsync(null, $"Agents:a:TokenHash={EntryTokens.HashSetting("t1")}");
        using var api = new AdminApi(entry);
        Assert.Empty((await api.GetAsync("sessions")).GetProperty("sessions").EnumerateArray());
        var uplinks = new List<RawUplink>();
        foreach (var name in new[] { "web-2", "other", "web-3", "web-1" })
        {
            uplinks.Add(await RawUplink.ConnectAsAgentAsync(entry.Uplink, name));
        }

        await entry.WaitForSessionsAsync(4);
        var all = await api.GetAsync("sessions");
        Assert.Equal(["other", "web-1", "web-2", "web-3"], Names(all));
        Assert.Equal(4, all.GetProperty("total").GetInt32());
        Assert.False(all.TryGetProperty("next", out _));

        var first = await api.GetAsync("sessions?limit=2&name=web-*");
        Assert.Equal((3, "web-2"), (first.GetProperty("total").GetInt32(), first.GetProperty("next").GetString()));
        Assert.Equal(["web-1", "web-2"], Names(first));
        var second = await api.GetAsync("sessions?limit=2&name=web-*&after=web-2");
        Assert.Equal(["web-3"], Names(second));
        Assert.False(second.TryGetProperty("next", out _));
        Assert.Empty(Names(await api.GetAsync("sessions?after=zzz")));
        Assert.Empty(Names(await api.GetAsync("sessions?agent=a")));
        Assert.Equal(4, Names(await api.GetAsync("sessions?agent=anonymous")).Count());

        var one = await api.GetAsync("sessions/other");
        Assert.Equal(("other", "http", "serving"), (Text(one, "name"), Text(one, "kind"), Text(one, "state")));
        Assert.Equal($"http://other.localhost:{entry.Http.Port}", one.GetProperty("urls")[0].GetString());
        Assert.Single(one.GetProperty("uplinks").EnumerateArray());
        var (status, none, head) = await api.SendAsync("HEAD", "sessions");
        Assert.Equal((200, null), (status, none));
        Assert.True(head.Content.Headers.ContentLength > 100);
        Assert.Equal("a", Text(Assert.Single((await api.GetAsync("agents")).GetProperty("agents").EnumerateArray()), "id"));
        Assert.Equal(4, (await api.GetAsync("health")).GetProperty("sessions").GetInt32());
        foreach (var uplink in uplinks)
        {
            await uplink.DisposeAsync();
        }
    }

    [Fact]
    public async Task A_session_that_is_drained_finishes_what_is_under_way_and_its_agent_comes_back()
    {
        var mayAnswer = new WaitSignal("the backend may answer");
        await using var backend = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            await mayAnswer.WaitAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
            await connection.WaitForEndAsync();
        });
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        using var api = new AdminApi(entry);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        await backend.ConnectionsAccepted.WaitForAsync(1);
        var id = Text(await api.GetAsync("sessions/web"), "sessionId");
        var (status, json, _) = await api.SendAsync("PUT", "sessions/web/drain");
        Assert.Equal((202, "leaving", 1), (status, Text(json!.Value, "state"), json.Value.GetProperty("openStreams").GetInt32()));
        await agent.Events.DrainingCount.WaitForAsync(1);

        mayAnswer.Set();
        var head = await visitor.ReadHeadAsync();
        Assert.Equal((200, "done"), (head.StatusCode, (await visitor.ReadBodyAsync(head)).Text()));
        await agent.Events.ReadyCount.WaitForAsync(2);
        await entry.UntilAsync(() => entry.Directory.Snapshot() is [{ IsLeaving: false }], "the agent is back");
        Assert.NotEqual(id, Text(await api.GetAsync("sessions/web"), "sessionId"));
        var line = Assert.Single(entry.Log.All, static line => line.EventId == 2230).Text;
        Assert.Contains($"drains session web ({id})", line, StringComparison.Ordinal);
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task A_session_that_is_ended_gets_the_reason_and_others_continue()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var ended = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "web-1");
        await using var other = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "web-2");
        await entry.WaitForSessionsAsync(2);
        using var api = new AdminApi(entry);
        Assert.Equal(204, (await api.SendAsync("DELETE", "sessions/web-1")).Status);
        var goAway = (await ended.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.Shutdown), (goAway.Phase, goAway.Reason));
        Assert.Equal("An administrator ended the session.", goAway.Text);
        await ended.DisposeAsync();
        await entry.WaitForSessionsAsync(1);
        await other.SyncAsync();
        await api.RefusedAsync(404, "no-session", "DELETE", "sessions/web-1");
        await api.RefusedAsync(404, "no-session", "PUT", "sessions/web-1/drain");
    }

    [Fact]
    public Task The_last_requests_of_a_session_are_listed_the_newest_first() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        using var api = new AdminApi(tunnel.Entry);

        // On one connection, so that they are recorded in their order.
        await using var visitor = await tunnel.ConnectAsync();
        foreach (var target in new[] { "/a?token=hidden", "/b", "/c" })
        {
            await visitor.ExchangeAsync(target, TunnelFixture.Host);
        }

        await tunnel.Entry.WaitForRecordsAsync(3);
        var all = (await api.GetAsync("sessions/web/requests")).GetProperty("requests").EnumerateArray().ToList();
        Assert.Equal(["/c", "/b", "/a"], all.Select(one => Text(one, "target")));
        Assert.All(all, static one => Assert.Equal((200, "GET"), (one.GetProperty("status").GetInt32(), Text(one, "method"))));
        Assert.True(all[0].GetProperty("startedAt").GetDateTimeOffset() > DateTimeOffset.UnixEpoch.AddYears(50));
        var two = (await api.GetAsync("sessions/web/requests?limit=2")).GetProperty("requests").EnumerateArray();
        Assert.Equal(["/c", "/b"], two.Select(one => Text(one, "target")));
        await api.RefusedAsync(404, "no-session", "GET", "sessions/none/requests");
        await api.RefusedAsync(400, "parameter", "GET", "sessions/web/requests?limit=101");
    });

    [Theory]
    [InlineData("GET", "none", null, "", 404, "not-found")]
    [InlineData("GET", "", null, "", 404, "not-found")]
    [InlineData("GET", "sessions/", null, "", 404, "not-found")]
    [InlineData("GET", "sessions/web/", null, "", 404, "not-found")]
    [InlineData("GET", "Sessions", null, "", 404, "not-found")]
    [InlineData("GET", "../v2/sessions", null, "", 404, "not-found")]
    [InlineData("GET", "sessions/%2e%2e%2fweb", null, "", 404, "no-session")]
    [InlineData("GET", "tokens/..%2f..%2fetc", null, "", 404, "no-token")]
    [InlineData("POST", "sessions", null, "", 405, "method")]
    [InlineData("PUT", "tokens/web", "{}", "application/json", 405, "method")]
    [InlineData("OPTIONS", "tokens", null, "", 405, "method")]
    [InlineData("GET", "sessions?limit=0", null, "", 400, "parameter")]
    [InlineData("GET", "sessions?limit=501", null, "", 400, "parameter")]
    [InlineData("GET", "sessions?limit=1e2", null, "", 400, "parameter")]
    [InlineData("GET", "sessions?limit=1&limit=2", null, "", 400, "parameter")]
    [InlineData("GET", "sessions?Limit=1", null, "", 400, "parameter")]
    [InlineData("GET", "sessions?name=a_b", null, "", 400, "parameter")]
    [InlineData("GET", "sessions?inspected=yes", null, "", 400, "parameter")]
    [InlineData("GET", "sessions?inspected=true&inspected=true", null, "", 400, "parameter")]
    [InlineData("GET", "health?verbose=true", null, "", 400, "parameter")]
    [InlineData("PUT", "sessions/web/drain", "{}", "application/json", 400, "body")]
    [InlineData("PUT", "certificates/web.example.org/renewal", null, "", 409, "no-authority")]
    [InlineData("POST", "tokens", null, "", 415, "not-json")]
    [InlineData("POST", "tokens", "{}", "text/plain", 415, "not-json")]
    [InlineData("POST", "tokens", "{}", "application/json; charset=utf-16", 415, "not-json")]
    [InlineData("POST", "tokens", "[]", "application/json; charset=\"UTF-8\"", 400, "malformed")]
    [InlineData("POST", "tokens", "", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", "null", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", "[]", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", "{", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"]} {}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"a"}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"],"scope":"all"}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"a","name":"b","names":["a"]}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"Name":"a","names":["a"]}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":1,"names":["a"]}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":null,"names":["a"]}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"],"expires":"soon"}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"],"expires":"2999-01-31"}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"],"expires":"2999-01-31T00:00:00"}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"name":"\ud800","names":["a"]}""", "application/json", 400, "malformed")]
    [InlineData("POST", "tokens", """{"\ud800":"a","names":["a"]}""", "application/json", 400, "malformed")]
    [InlineData("PUT", "policies/names/web", """[{"\ud800":1}]""", "application/json", 404, "no-name")]
    [InlineData("POST", "tokens", """{"name":"a","names":[null]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"","names":["a"]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"A","names":["a"]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"../a","names":["a"]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":".a","names":["a"]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"a\u0000","names":["a"]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"a","names":[]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a b"]}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"],"agent":"a b"}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"],"tier":"gold"}""", "application/json", 400, "token")]
    [InlineData("POST", "tokens", """{"name":"a","names":["a"],"expires":"2001-01-01T00:00:00Z"}""", "application/json", 400, "token")]
    public async Task Bad_input_is_refused_with_its_reason_and_changes_nothing(
        string method, string path, string? body, string mediaType, int status, string code)
    {
        using var folder = new TemporaryFolder();
        await using var entry = await EntryFixture.StartAsync(null, "StateFolder=" + folder["state"]);
        using var api = new AdminApi(entry);
        await api.RefusedAsync(status, code, method, path, body, mediaType);
        Assert.False(Directory.Exists(folder["state"]));
        Assert.DoesNotContain(entry.Log.All, static line => line.EventId == 2230);
        entry.Log.AssertNoErrors();
    }

    [Theory]
    [InlineData("{}", "The body lacks the field 'name'.")]
    [InlineData("""{"name":"a"}""", "The body lacks the field 'names'.")]
    [InlineData("""{"name":"a","names":["a"]} {}""", "at '$'")]
    [InlineData("[]", "at '$'")]
    [InlineData("{", "at '$'")]
    [InlineData("""{"name":1}""", "at '$.name'")]
    [InlineData("""{"nmae":"a","names":["a"]}""", "at '$.nmae'")]
    public async Task A_body_that_does_not_fit_is_answered_with_where_and_with_the_field_that_is_missing(string body, string words)
    {
        await using var entry = await EntryFixture.StartAsync();
        using var api = new AdminApi(entry);
        var problem = await api.RefusedAsync(400, "malformed", "POST", "tokens", body, "application/json");
        Assert.Contains(words, problem.GetProperty("detail").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_body_has_its_limit_in_bytes_and_in_time()
    {
        var time = new ManualTimeProvider();
        using var folder = new TemporaryFolder();
        await using var entry = await EntryFixture.StartAsync(time, "StateFolder=" + folder["state"]);
        using var api = new AdminApi(entry);
        await api.RefusedAsync(413, "body", "POST", "tokens", new string(' ', ApiEndpoints.MaxBody + 1));
        await api.RefusedAsync(400, "malformed", "POST", "tokens", new string(' ', ApiEndpoints.MaxBody));

        const string Head = "POST /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
        await using var chunked = await RawHttpClient.ConnectAsync(entry.Admin);
        await chunked.WriteAsync(Head + "Transfer-Encoding: chunked\r\n\r\n");
        var chunk = "8000\r\n" + new string(' ', 0x8000) + "\r\n";
        await chunked.WriteAsync(chunk + chunk + chunk);
        Assert.Equal(413, (await chunked.ReadHeadAsync()).StatusCode);

        await using var slow = await RawHttpClient.ConnectAsync(entry.Admin);
        var limits = time.SetFor(AdminBody.Limit);
        var before = limits.Value;
        await slow.WriteAsync(Head + "Content-Length: 100\r\n\r\n{");
        await limits.WaitForAsync(before + 1);
        time.Advance(AdminBody.Limit);
        Assert.Equal(408, (await slow.ReadHeadAsync()).StatusCode);

        // The inspector's too, and what is held for one grows with what comes and not with what was said.
        await using var replay = await RawHttpClient.ConnectAsync(entry.Admin);
        before = limits.Value;
        await replay.WriteAsync(
            Head.Replace("tokens", "sessions/web/exchanges/1/replay", StringComparison.Ordinal) + "Content-Length: 2000000\r\n\r\n{");
        await limits.WaitForAsync(before + 1);
        time.Advance(AdminBody.Limit);
        Assert.Equal(408, (await replay.ReadHeadAsync()).StatusCode);
        await api.RefusedAsync(
            413, "body", "POST", "sessions/web/exchanges/1/replay", new string(' ', InspectorApi.MaxRequestBody + 1));
        Assert.Equal(200, (await api.SendAsync("GET", "health")).Status);
    }

    [Fact]
    public async Task Strangers_guesses_and_pages_of_others_are_refused()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Admin:Token=admin-secret", "Admin:MetricsToken=metrics-secret", "Uplink:FailuresPerMinute=3");
        using var stranger = new AdminApi(entry);
        await stranger.RefusedAsync(401, "unauthorized", "GET", "sessions");
        await stranger.RefusedAsync(401, "unauthorized", "GET", "openapi.json");
        await stranger.RefusedAsync(401, "unauthorized", "DELETE", "sessions/web");
        using var admin = new AdminApi(entry, "admin-secret");
        await admin.RefusedAsync(403, "origin", "PUT", "sessions/web/drain", null, "", ("Origin", "http://evil.example"));
        await admin.RefusedAsync(403, "origin", "GET", "tokens", null, "", ("Sec-Fetch-Site", "cross-site"));
        Assert.Equal(200, (await admin.SendAsync("GET", "tokens", null, "", ("Origin", $"http://{entry.Admin}"))).Status);

        using var guesser = new AdminApi(entry, "metrics-secret");
        for (var guess = 0; guess < 3; guess++)
        {
            await guesser.RefusedAsync(401, "unauthorized", "GET", "tokens");
        }

        // The right one is not looked at either.
        await admin.RefusedAsync(429, "too-many-attempts", "GET", "tokens");
        Assert.NotNull((await admin.SendAsync("GET", "tokens")).Response.Headers.RetryAfter);
    }

    [Fact]
    public async Task A_name_of_others_that_leads_here_gets_nothing()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Admin);
        var (head, body) = await visitor.ExchangeAsync("/api/v1/sessions", "rebound.example");
        Assert.Equal((403, "application/problem+json; charset=utf-8"), (head.StatusCode, head["Content-Type"]));
        Assert.Contains("\"host\"", body.Text(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_document_describes_what_there_is()
    {
        using var folder = new TemporaryFolder();
        await using var entry = await EntryFixture.StartAsync(null, "StateFolder=" + folder["state"]);
        await using var uplink = await RawUplink.ConnectAsAgentAsync(entry.Uplink, "web");
        await entry.WaitForSessionsAsync(1);
        using var api = new AdminApi(entry);
        await api.CreateTokenAsync("""{"name":"web","names":["kept-*"],"tier":"pro"}""");
        Assert.Equal(200, (await api.SendAsync("PUT", "sessions/web/inspection")).Status);
        foreach (var scope in new[] { "agents", "tokens", "names" })
        {
            Assert.Equal(200, (await api.SendAsync("PUT", $"policies/{scope}/web", """[{"path":"/a","deny":true}]""")).Status);
        }

        var document = await api.GetAsync("openapi.json");
        Assert.StartsWith("3.1.", Text(document, "openapi"), StringComparison.Ordinal);
        var schemas = document.GetProperty("components").GetProperty("schemas");
        var ids = new List<string>();
        foreach (var path in document.GetProperty("paths").EnumerateObject())
        {
            foreach (var operation in path.Value.EnumerateObject())
            {
                ids.Add(Text(operation.Value, "operationId"));
                if (operation.Name != "get" || path.Name.EndsWith("openapi.json", StringComparison.Ordinal))
                {
                    continue;
                }

                // What is answered is what the schema says: all that is required, and nothing that it does not have.
                var content = operation.Value.GetProperty("responses").GetProperty("200").GetProperty("content");
                if (!content.TryGetProperty("application/json", out var json)
                    || ReferencesIn(json.GetProperty("schema")) is not { Count: > 0 } types)
                {
                    // The inspector's have no types.
                    Assert.Matches("/(inspection|exchanges)", path.Name);
                    continue;
                }

                var target = path.Name.Replace("{name}", "web", StringComparison.Ordinal);
                AssertFits(types[0], await api.GetAsync(target), path.Name);
                foreach (var type in types.Skip(1))
                {
                    AssertFits(type, await api.GetAsync(target + "?inspected=true"), path.Name);
                }
            }
        }

        List<JsonElement> ReferencesIn(JsonElement schema) =>
            [.. References(schema).Select(reference => schemas.GetProperty(reference.Split('/')[^1]))];

        Assert.Equal(ids.Count, ids.Distinct().Count());
        Assert.Equal(1, (await api.GetAsync("sessions?inspected=true")).GetProperty("sessions").GetArrayLength());
        Assert.Equal(
            ["beginInspection", "compareExchanges", "copyExchange", "createToken", "drainSession", "dropExchanges", "endInspection",
                "endSession", "exportExchanges", "getAgentPolicy", "getDocument", "getExchange", "getHealth", "getInspection",
                "getNamePolicy", "getRequestBody", "getResponseBody", "getSession", "getToken", "getTokenPolicy", "listAgents",
                "listCertificates", "listExchanges", "listPolicies", "listRequests", "listSessions", "listTokens", "removeAgentPolicy",
                "removeNamePolicy", "removeTokenPolicy", "renewCertificate", "replayExchange", "revokeToken", "setAgentPolicy",
                "setNamePolicy", "setTokenPolicy"],
            ids.Order(StringComparer.Ordinal));
        Assert.All(References(document), reference => Assert.True(
            schemas.TryGetProperty(reference["#/components/schemas/".Length..], out _), reference));
    }

    [Fact]
    public Task Every_path_of_the_inspector_is_in_the_document_with_its_methods() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            using var api = new AdminApi(tunnel.Entry);
            Assert.Equal(200, (await api.SendAsync("PUT", "sessions/web/inspection")).Status);
            await tunnel.ExchangeAsync("/a");
            var paths = (await api.GetAsync("openapi.json")).GetProperty("paths").EnumerateObject()
                .Where(static path => path.Name.Contains("/exchanges", StringComparison.Ordinal)
                    || path.Name.EndsWith("/inspection", StringComparison.Ordinal)).ToList();
            Assert.Equal(9, paths.Count);
            foreach (var path in paths)
            {
                var target = path.Name.Replace("{name}", "web", StringComparison.Ordinal).Replace("{id}", "1", StringComparison.Ordinal)
                    .Replace("{other}", "1", StringComparison.Ordinal).Replace("{format}", "curl", StringComparison.Ordinal);
                await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
                var methods = path.Value.EnumerateObject().Select(static operation => operation.Name.ToUpperInvariant()).Order().ToList();
                if (methods.Contains("GET"))
                {
                    Assert.Equal(200, (await visitor.ExchangeAsync(target, "127.0.0.1")).Head.StatusCode);
                }

                // What it says itself that the path is for.
                var head = (await visitor.ExchangeAsync(target, "127.0.0.1", "PATCH")).Head;
                Assert.Equal(405, head.StatusCode);
                Assert.Equal(methods, head["Allow"]!.Split(", ").Except(["HEAD"]).Order());
            }

            // A path that is in no table reaches nothing.
            foreach (var unknown in new[] { "inspection/1", "exchanges/1/request", "exchanges/1/copy", "exchanges/1/other", "exchange" })
            {
                await api.RefusedAsync(404, "not-found", "GET", "sessions/web/" + unknown);
            }
        });

    [Fact]
    public async Task Certificates_in_use_are_listed()
    {
        using var folder = new TemporaryFolder();
        await using var entry = await EntryFixture.StartAsync(
            null, "StateFolder=" + folder["state"], "Uplink:Certificate=self-made");
        using var api = new AdminApi(entry);
        var list = await api.GetAsync("certificates");
        var one = Assert.Single(list.GetProperty("certificates").EnumerateArray());
        Assert.Equal(("agents", entry.UplinkCertificate!.Fingerprint.ToString()), (Text(one, "use"), Text(one, "fingerprint")));
        Assert.Equal((1, 0), (list.GetProperty("total").GetInt32(), list.GetProperty("refused").GetInt32()));
        Assert.DoesNotContain("PRIVATE", list.GetRawText(), StringComparison.Ordinal);
    }

    private static void AssertFits(JsonElement schema, JsonElement value, string where)
    {
        if (value.ValueKind == JsonValueKind.Array)
        {
            Assert.All(value.EnumerateArray(), item => AssertFits(schema.GetProperty("items"), item, where + "[]"));
        }

        // A row of a policy is described in its own document.
        if (value.ValueKind != JsonValueKind.Object || !schema.TryGetProperty("properties", out _))
        {
            return;
        }

        foreach (var name in schema.GetProperty("required").EnumerateArray())
        {
            Assert.True(value.TryGetProperty(name.GetString()!, out _), $"{where} has no {name}");
        }

        foreach (var member in value.EnumerateObject())
        {
            Assert.True(schema.GetProperty("properties").TryGetProperty(member.Name, out var its), $"{where} has {member.Name}");
            Assert.True(its.TryGetProperty("description", out _), $"{where}: {member.Name} has no words");
            AssertFits(its, member.Value, $"{where}.{member.Name}");
        }
    }

    private static IEnumerable<string> References(JsonElement element) => element.ValueKind switch
    {
        JsonValueKind.Object => element.EnumerateObject().SelectMany(static member =>
            member.Name == "$ref" ? [member.Value.GetString()!] : References(member.Value)),
        JsonValueKind.Array => element.EnumerateArray().SelectMany(References),
        _ => [],
    };

    private static IEnumerable<string> Names(JsonElement page) =>
        page.GetProperty("sessions").EnumerateArray().Select(static session => Text(session, "name"));

    private static string Text(JsonElement element, string member) => element.GetProperty(member).GetString()!;
}
