using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Inspecting;

/// <summary>The inspector of ProxyEntry, on its admin listener.</summary>
public sealed class EntryInspectionTests
{
    private const string Session = "/api/v1/sessions/web";
    private const string Inspected = "/api/v1/sessions?inspected=true";

    [Fact]
    public Task An_administrator_inspects_a_session_for_a_time() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await tunnel.ExchangeAsync("/before");
        using var admin = Admin(tunnel);
        Assert.Equal(HttpStatusCode.NotFound, (await admin.GetAsync(Session + "/exchanges")).StatusCode);
        Assert.Equal(HttpStatusCode.OK, (await admin.PutAsync(Session + "/inspection?minutes=5", null)).StatusCode);
        await tunnel.ExchangeAsync("/seen?token=hidden", fields: "A: 1\r\nAuthorization: Bearer hidden\r\n");
        var (_, list) = await GetAsync(admin, Session + "/exchanges");
        var summary = Assert.Single(list.GetProperty("exchanges").EnumerateArray());
        Assert.Equal("/seen?token=***", summary.GetProperty("target").GetString());
        var (text, detail) = await GetAsync(admin, Session + "/exchanges/1");
        Assert.Equal(200, detail.GetProperty("response").GetProperty("status").GetInt32());
        var fields = detail.GetProperty("request").GetProperty("fields").EnumerateArray();
        Assert.StartsWith(
            "Host|A|Authorization", string.Join('|', fields.Select(field => field.GetProperty("name"))), StringComparison.Ordinal);
        Assert.Contains("Bearer ***", text, StringComparison.Ordinal);

        Assert.Equal(HttpStatusCode.NoContent, (await admin.DeleteAsync(Session + "/inspection")).StatusCode);
        await tunnel.ExchangeAsync("/after");
        Assert.Equal(HttpStatusCode.NotFound, (await admin.GetAsync(Session + "/exchanges")).StatusCode);
        Assert.Equal(HttpStatusCode.NotFound, (await admin.DeleteAsync(Session + "/inspection")).StatusCode);
    });

    [Fact]
    public Task Bodies_and_a_replay() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        using var admin = Admin(tunnel);
        await admin.PutAsync(Session + "/inspection", null);
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync($"POST /a HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 4\r\n\r\nbody");
        await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
        using var response = await admin.PostAsync(Session + "/exchanges/1/replay", null);
        using var json = JsonDocument.Parse(await response.Content.ReadAsStringAsync());
        Assert.Equal((200, "tunnel"), ((int)response.StatusCode, json.RootElement.GetProperty("via").GetString()));
        var again = json.RootElement.GetProperty("exchange");
        Assert.Equal("body", again.GetProperty("request").GetProperty("body").GetProperty("text").GetString());
        var answer = again.GetProperty("response").GetProperty("body").GetProperty("text").GetString();
        Assert.EndsWith("\r\n\r\nbody", answer, StringComparison.Ordinal);
        Assert.Equal(1, again.GetProperty("replayOf").GetInt32());
    });

    [Theory]
    [InlineData("PUT", "/inspection?minutes=5&seconds=3", null, "parameter")]
    [InlineData("PUT", "/inspection?minutes=5&minutes=6", null, "parameter")]
    [InlineData("PUT", "/inspection?minutes=x", null, "minutes")]
    [InlineData("PUT", "/inspection", """{"minutes":5}""", "body")]
    [InlineData("GET", "/inspection?minutes=5", null, "parameter")]
    [InlineData("DELETE", "/inspection?now=1", null, "parameter")]
    [InlineData("GET", "/exchanges?limits=5", null, "parameter")]
    [InlineData("GET", "/exchanges?limit=5&limit=6", null, "parameter")]
    [InlineData("GET", "/exchanges?limit=all", null, "parameter")]
    [InlineData("GET", "/exchanges?limit=501", null, "parameter")]
    [InlineData("GET", "/exchanges?since=-1", null, "parameter")]
    [InlineData("GET", "/exchanges?kind=grpc", null, "parameter")]
    [InlineData("GET", "/exchanges?status=6xx", null, "parameter")]
    [InlineData("GET", "/exchanges?Reveal=1", null, "parameter")]
    [InlineData("GET", "/exchanges?reveal=yes", null, "parameter")]
    [InlineData("GET", "/exchanges.har?ids=1", null, "parameter")]
    [InlineData("DELETE", "/exchanges?id=1", null, "parameter")]
    [InlineData("DELETE", "/exchanges", """{"id":1}""", "body")]
    [InlineData("GET", "/exchanges/1?limit=1", null, "parameter")]
    [InlineData("POST", "/exchanges/1/replay?method=PUT", null, "parameter")]
    [InlineData("POST", "/exchanges/1/replay", """{"method":"PUT","url":"/b"}""", "malformed")]
    [InlineData("POST", "/exchanges/1/replay", """{"method":"PUT","method":"PATCH"}""", "malformed")]
    [InlineData("POST", "/exchanges/1/replay", """{"fields":[{"name":"a","value":"b","keep":0}]}""", "malformed")]
    [InlineData("POST", "/exchanges/1/replay", """{"fields":[{"keep":0,"then":1}]}""", "malformed")]
    [InlineData("POST", "/exchanges/1/replay", """{"body":"\ud800"}""", "malformed")]
    [InlineData("POST", "/exchanges/1/replay", """{"\ud800":1}""", "malformed")]
    public Task What_is_not_known_is_refused_and_changes_nothing(string method, string path, string? body, string code) =>
        TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
        {
            using var admin = Admin(tunnel);
            await admin.PutAsync(Session + "/inspection", null);
            await tunnel.ExchangeAsync("/a");
            using var request = new HttpRequestMessage(new HttpMethod(method), Session + path);
            request.Content = body is null ? null : new StringContent(body, new MediaTypeHeaderValue("application/json"));
            using var response = await admin.SendAsync(request);
            Assert.Equal(HttpStatusCode.BadRequest, response.StatusCode);
            using var json = JsonDocument.Parse(await response.Content.ReadAsStringAsync());
            Assert.Equal("application/problem+json", response.Content.Headers.ContentType!.MediaType);
            Assert.Equal(code, json.RootElement.GetProperty("code").GetString());
            var (_, list) = await GetAsync(admin, Session + "/exchanges?limit=500&status=2xx&kind=http&reveal=0&q=&method=get");
            Assert.Single(list.GetProperty("exchanges").EnumerateArray());
        });

    [Fact]
    public void What_the_document_of_the_API_lists_is_what_is_known()
    {
        foreach (var operation in InspectorRoutes.All.Where(static one => one.Path.Contains("/exchanges", StringComparison.Ordinal)))
        {
            var parts = operation.Path.Split('/', StringSplitOptions.RemoveEmptyEntries);
            var query = string.Join('&', operation.Query.Select(static parameter => parameter.Name + "="));
            Assert.Null(RequestRules.Refuse(Request(query), parts));
            Assert.Equal(400, RequestRules.Refuse(Request(query + "&more="), parts)!.Status);

            InspectorRequest Request(string asked) => new() { Method = operation.Method, Path = operation.Path, Query = asked };
        }
    }

    [Fact]
    public async Task A_replay_goes_to_the_name_of_its_request_with_its_scheme_although_the_server_redirects_to_HTTPS()
    {
        using var certificate = TestCertificate.Create();
        await TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                using var admin = Admin(tunnel);
                const string Name = "/api/v1/sessions/*.example.org";
                Assert.Equal(HttpStatusCode.OK, (await admin.PutAsync(Name + "/inspection", null)).StatusCode);
                using var secure = new HttpClient(new SocketsHttpHandler
                {
                    UseProxy = false,
                    SslOptions = { RemoteCertificateValidationCallback = static (_, shown, _, _) => shown is not null },
                });
                using var request = new HttpRequestMessage(HttpMethod.Get, $"https://127.0.0.1:{tunnel.Entry.Https.Port}/a");
                request.Headers.Host = "b.example.org";
                using var first = await secure.SendAsync(request);
                var seen = await first.Content.ReadAsStringAsync();
                Assert.Contains("\r\nX-Forwarded-Proto: https\r\n", seen, StringComparison.OrdinalIgnoreCase);
                using var response = await admin.PostAsync(Name + "/exchanges/1/replay", null);
                using var json = JsonDocument.Parse(await response.Content.ReadAsStringAsync());
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                var again = json.RootElement.GetProperty("exchange");
                Assert.Equal((200, 1), (again.GetProperty("status").GetInt32(), again.GetProperty("replayOf").GetInt32()));
                Assert.Equal(seen, again.GetProperty("response").GetProperty("body").GetProperty("text").GetString());

                // What is copied and exported has the name too.
                var (curl, _) = await GetAsync(admin, Name + "/exchanges/1/copy/curl");
                Assert.Contains($"https://b.example.org:{tunnel.Entry.Https.Port}/a", curl, StringComparison.Ordinal);
                var (har, _) = await GetAsync(admin, Name + "/exchanges.har");
                Assert.Contains($"\"https://b.example.org:{tunnel.Entry.Https.Port}/a\"", har, StringComparison.Ordinal);
            },
            new TunnelSetup
            {
                Settings =
                [
                    "Agents:web:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:web:Names=*.example.org",
                    "Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}", "Https:Redirect=on",
                ],
                Agent = static options => options with { Name = "*.example.org", Token = "t" },
            });
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task Trailers_of_both_sides_are_kept(bool isHttp2) => TunnelFixture.RunAsync(async tunnel =>
    {
        using var admin = Admin(tunnel);
        await admin.PutAsync(Session + "/inspection", null);
        if (isHttp2)
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            await visitor.ExchangeAsync(
                Http2Visitor.Request(false, "/echo", "POST"), "hi", [("b-sum", "1"), ("a", "2"), ("x-token", "hidden")]);
        }
        else
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                $"POST /echo HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "2\r\nhi\r\n0\r\nb-sum: 1\r\na: 2\r\nx-token: hidden\r\n\r\n");
            await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
        }

        await tunnel.ExchangeAsync("/trailers?X-Sum=5&x-kind=6");
        Assert.Equal("b-sum=1|a=2|x-token=***", Trailers((await GetAsync(admin, Session + "/exchanges/1")).Json, "request"));
        Assert.Equal("X-Sum=5|x-kind=6", Trailers((await GetAsync(admin, Session + "/exchanges/2")).Json, "response"));
    });

    [Fact]
    public Task The_page_is_the_one_of_the_agent_and_needs_no_token() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            using var stranger = Admin(tunnel);
            foreach (var file in new[] { "/", "/inspector.js", "/api.js" })
            {
                using var response = await stranger.GetAsync("/inspector" + file);
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                Assert.Equal(PageFiles.Find(file)!.Body.ToArray(), await response.Content.ReadAsByteArrayAsync());
                Assert.Equal(PageFiles.Find(file)!.ContentType, response.Content.Headers.ContentType!.ToString());
                var policy = Assert.Single(response.Headers.GetValues("Content-Security-Policy"));
                Assert.StartsWith("default-src 'none'; script-src 'self'", policy, StringComparison.Ordinal);
                Assert.Equal("DENY", Assert.Single(response.Headers.GetValues("X-Frame-Options")));
            }

            await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
            var host = tunnel.Entry.Admin.ToString();
            var (redirect, _) = await visitor.ExchangeAsync("/inspector", host);
            Assert.Equal((308, "/inspector/"), (redirect.StatusCode, redirect["Location"]));
            Assert.Empty((await visitor.ExchangeAsync("/inspector/", host, "HEAD")).Body.Bytes);
            foreach (var path in new[] { "/inspector/none.js", "/inspector/../api.js", "/inspector/Inspection.dll", "/inspector//x.htm" })
            {
                var status = (await visitor.ExchangeAsync(path, host)).Head.StatusCode;
                Assert.True(status is 401 or 404, $"{path}: {status}");
            }

            Assert.Equal(405, (await visitor.ExchangeAsync("/inspector/", host, "POST", "Content-Length: 0\r\n")).Head.StatusCode);
            Assert.Equal(401, (await visitor.ExchangeAsync("/inspectors", host)).Head.StatusCode);
            Assert.Equal(401, (await visitor.ExchangeAsync("/api/v1/sessions", host)).Head.StatusCode);
        },
        new TunnelSetup { Settings = ["Admin:Token=admin-secret"] });

    [Fact]
    public Task Another_name_that_leads_here_gets_neither_page_nor_data() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        using var admin = Admin(tunnel);
        await admin.PutAsync(Session + "/inspection", null);
        await tunnel.ExchangeAsync("/a");
        await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
        var host = $"rebound.example:{tunnel.Entry.Admin.Port}";
        foreach (var path in new[] { "/inspector/", "/inspector/api.js", Session + "/exchanges", Session + "/exchanges/1" })
        {
            Assert.Equal(403, (await visitor.ExchangeAsync(path, host)).Head.StatusCode);
        }

        Assert.Equal(403, (await visitor.ExchangeAsync(Session + "/inspection", host)).Head.StatusCode);

        Assert.Equal(403, (await visitor.ExchangeAsync(Session + "/inspection", host, "DELETE")).Head.StatusCode);
        Assert.Equal(HttpStatusCode.OK, (await admin.GetAsync(Session + "/exchanges")).StatusCode);
    });

    [Fact]
    public Task A_page_of_another_origin_changes_nothing() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        using var admin = Admin(tunnel);
        await admin.PutAsync(Session + "/inspection", null);
        await tunnel.ExchangeAsync("/a");
        var host = tunnel.Entry.Admin.ToString();
        string[] others =
        [
            "Origin: http://evil.example\r\n", "Origin: null\r\n", $"Origin: http://web.localhost:{tunnel.Entry.Http.Port}\r\n",
            $"Origin: ftp://{host}\r\n", $"Origin: http://evil.example, http://{host}\r\n", $"Origin: http://evil.example?://{host}\r\n",
            "Origin: \r\n", $"Origin: http://{host}\r\nOrigin: http://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n",
            "Sec-Fetch-Site: same-site\r\n", "Sec-Fetch-Site: \r\n", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n",
        ];
        await using var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
        foreach (var fields in others)
        {
            foreach (var (method, path) in new[]
            {
                ("PUT", Session + "/inspection"), ("DELETE", Session + "/inspection"), ("DELETE", Session + "/exchanges"),
                ("POST", Session + "/exchanges/1/replay"), ("OPTIONS", Session + "/exchanges"),
            })
            {
                var (head, _) = await visitor.ExchangeAsync(path, host, method, fields + "Content-Length: 0\r\n");
                Assert.Equal(403, head.StatusCode);
                Assert.DoesNotContain("Access-Control", head.Text, StringComparison.OrdinalIgnoreCase);
            }
        }

        var list = (await GetAsync(admin, Session + "/exchanges")).Json.GetProperty("exchanges");
        Assert.Single(list.EnumerateArray());
        var (own, _) = await visitor.ExchangeAsync(
            Session + "/exchanges", host, "DELETE", $"Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n");
        Assert.Equal(204, own.StatusCode);
    });

    [Fact]
    public Task The_log_says_who_began_it_for_how_long_and_how_it_ended()
    {
        var time = new ManualTimeProvider();
        return TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                using var admin = Admin(tunnel);
                await admin.PutAsync(Session + "/inspection?minutes=2", null);
                Assert.Equal(
                    "An administrator at 127.0.0.1 inspects session web for 2 minutes, until 2030-01-01 00:02:00Z",
                    Assert.Single(Lines(tunnel, 2240)).Trim());
                time.Advance(TimeSpan.FromSeconds(5));
                await admin.DeleteAsync(Session + "/inspection");
                Assert.Equal(
                    "The inspection of session web has ended after 5 s: an administrator at 127.0.0.1 ended it",
                    Assert.Single(Lines(tunnel, 2241)).Trim());

                Assert.Equal(HttpStatusCode.OK, (await admin.PutAsync(Session + "/inspection?minutes=1", null)).StatusCode);
                time.Advance(TimeSpan.FromMinutes(1));
                await tunnel.Entry.Log.WaitForAsync(2241, 2);
                Assert.EndsWith("60 s: its time is over", Lines(tunnel, 2241).Last().Trim(), StringComparison.Ordinal);

                await admin.PutAsync(Session + "/inspection?minutes=0", null);
                await admin.DeleteAsync(Session + "/inspection");
                Assert.Equal((2, 2), (Lines(tunnel, 2240).Count(), Lines(tunnel, 2241).Count()));
            },
            new TunnelSetup { EntryTime = time });
    }

    [Fact]
    public Task The_log_says_who_sent_what_again_and_was_shown_secrets_of_what()
    {
        var time = new ManualTimeProvider();
        return TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                using var admin = Admin(tunnel);
                await admin.PutAsync(Session + "/inspection?minutes=60", null);
                await tunnel.ExchangeAsync("/seen?token=hidden", fields: "Authorization: Bearer hidden\r\n");
                foreach (var masked in new[] { "", "/1", "/1?reveal=0", "/9?reveal=1", "/1/copy/none?reveal=1", "/1/compare/9?reveal=1" })
                {
                    using var _ = await admin.GetAsync(Session + "/exchanges" + masked);
                }

                Assert.Empty(Lines(tunnel, 2243));
                string[] shown =
                [
                    "/1?reveal=1", "?reveal=1", ".har?reveal=1", "/1/response/body?reveal=1", "/1/copy/curl?reveal=1",
                    "/001/compare/1?reveal=1", "/1?reveal=1",
                ];
                foreach (var path in shown)
                {
                    Assert.Equal(HttpStatusCode.OK, (await admin.GetAsync(Session + "/exchanges" + path)).StatusCode);
                }

                time.Advance(TimeSpan.FromMinutes(1));
                await admin.GetAsync(Session + "/exchanges/1?reveal=1");
                Assert.Equal(
                    [
                        "exchange 1", "the list", "the HAR file", "the response body of exchange 1", "exchange 1 as curl",
                        "exchanges 1 and 1", "exchange 1",
                    ],
                    Lines(tunnel, 2243).Select(
                        static line => After(line, "An administrator at 127.0.0.1 is shown secrets of session web: ")));

                Assert.Empty(Lines(tunnel, 2242));
                Assert.Equal(HttpStatusCode.OK, (await admin.PostAsync(Session + "/exchanges/1/replay", null)).StatusCode);
                using var changes = new StringContent("{\"target\":\"/other\"}", new MediaTypeHeaderValue("application/json"));
                using var changed = await admin.PostAsync(Session + "/exchanges/1/replay?reveal=1", changes);
                Assert.Equal(HttpStatusCode.OK, changed.StatusCode);
                Assert.Equal(HttpStatusCode.NotFound, (await admin.PostAsync(Session + "/exchanges/9/replay", null)).StatusCode);
                Assert.Equal(
                    ["as it was", "changed"],
                    Lines(tunnel, 2242).Select(
                        static line => After(line, "An administrator at 127.0.0.1 sends exchange 1 of session web again, ")));
                Assert.EndsWith("the replay of exchange 1", Lines(tunnel, 2243).Last().Trim(), StringComparison.Ordinal);
                Assert.DoesNotContain(tunnel.Entry.Log.All, static line => line.Text.Contains("hidden", StringComparison.Ordinal));
            },
            new TunnelSetup { EntryTime = time });

        static string After(string line, string beginning)
        {
            Assert.StartsWith(beginning, line, StringComparison.Ordinal);
            return line[beginning.Length..].Trim();
        }
    }

    [Fact]
    public Task Asked_for_again_it_lasts_from_then_on_and_says_until_when()
    {
        var time = new ManualTimeProvider();
        return TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                using var admin = Admin(tunnel);
                Assert.Equal(JsonValueKind.Null, (await GetAsync(admin, Session + "/inspection")).Json.GetProperty("until").ValueKind);
                await admin.PutAsync(Session + "/inspection?minutes=1", null);
                await tunnel.ExchangeAsync("/seen");
                time.Advance(TimeSpan.FromSeconds(59));
                await admin.PutAsync(Session + "/inspection?minutes=1", null);
                time.Advance(TimeSpan.FromSeconds(59));
                var until = time.GetUtcNow() + TimeSpan.FromSeconds(1);
                var list = (await GetAsync(admin, Session + "/exchanges")).Json;
                Assert.Single(list.GetProperty("exchanges").EnumerateArray());
                Assert.Equal(until, list.GetProperty("until").GetDateTimeOffset());
                Assert.Equal(until, (await GetAsync(admin, Session + "/inspection")).Json.GetProperty("until").GetDateTimeOffset());
                var inspected = (await GetAsync(admin, Inspected)).Json;
                var session = Assert.Single(inspected.GetProperty("sessions").EnumerateArray());
                Assert.Equal(until, session.GetProperty("until").GetDateTimeOffset());
                time.Advance(TimeSpan.FromSeconds(1));
                await tunnel.Entry.Log.WaitForAsync(2241);
                Assert.Equal(JsonValueKind.Null, (await GetAsync(admin, Session + "/inspection")).Json.GetProperty("until").ValueKind);
                Assert.Empty((await GetAsync(admin, Inspected)).Json.GetProperty("sessions").EnumerateArray());
            },
            new TunnelSetup { EntryTime = time });
    }

    [Fact]
    public Task A_session_without_requests_is_refused_with_the_reason() => TunnelFixture.RunAsync(
        static connection => connection.WaitForEndAsync(),
        async tunnel =>
        {
            using var admin = Admin(tunnel);
            using var response = await admin.PutAsync(Session + "/inspection", null);
            Assert.Equal(HttpStatusCode.Conflict, response.StatusCode);
            Assert.Contains("\"not-http\"", await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
            Assert.Null(tunnel.Entry.Session.Inspected);
        },
        TcpTunnel.Setup());

    [Fact]
    public Task Wrong_tokens_are_limited() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            using var admin = Admin(tunnel);
            for (var i = 0; i < 2; i++)
            {
                admin.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", $"wrong{i}");
                Assert.Equal(HttpStatusCode.Unauthorized, (await admin.PutAsync(Session + "/inspection", null)).StatusCode);
            }

            admin.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", "admin-secret");
            Assert.Equal(HttpStatusCode.TooManyRequests, (await admin.PutAsync(Session + "/inspection", null)).StatusCode);
            Assert.Empty(Lines(tunnel, 2240));
        },
        new TunnelSetup { Settings = ["Admin:Token=admin-secret", "Uplink:FailuresPerMinute=2"] });

    [Fact]
    public Task It_ends_by_itself_and_stays_over_a_new_session()
    {
        var time = new ManualTimeProvider();
        return TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                using var admin = Admin(tunnel);
                await admin.PutAsync(Session + "/inspection?minutes=1", null);
                await tunnel.ExchangeAsync("/seen");
                Assert.Equal(HttpStatusCode.OK, (await admin.GetAsync(Session + "/exchanges")).StatusCode);
                time.Advance(TimeSpan.FromMinutes(1));
                Assert.Equal(HttpStatusCode.NotFound, (await admin.GetAsync(Session + "/exchanges")).StatusCode);
            },
            new TunnelSetup { EntryTime = time });
    }

    [Fact]
    public Task Strangers_and_other_pages_are_refused() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            using var stranger = Admin(tunnel);
            Assert.Equal(HttpStatusCode.Unauthorized, (await stranger.PutAsync(Session + "/inspection", null)).StatusCode);
            using var admin = Admin(tunnel);
            admin.DefaultRequestHeaders.Add("Authorization", "Bearer admin-secret");
            Assert.Equal(HttpStatusCode.BadRequest, (await admin.PutAsync(Session + "/inspection?minutes=0", null)).StatusCode);
            Assert.Equal(HttpStatusCode.NotFound, (await admin.PutAsync("/api/v1/sessions/none/inspection", null)).StatusCode);
            admin.DefaultRequestHeaders.Add("Origin", "http://evil.example");
            Assert.Equal(HttpStatusCode.Forbidden, (await admin.PutAsync(Session + "/inspection", null)).StatusCode);
        },
        new TunnelSetup { Settings = ["Admin:Token=admin-secret"] });

    private static IEnumerable<string> Lines(TunnelFixture tunnel, int eventId) =>
        tunnel.Entry.Log.All.Where(line => line.EventId == eventId).Select(static line => line.Text);

    private static string Trailers(JsonElement exchange, string side) => string.Join(
        '|', exchange.GetProperty(side).GetProperty("trailers").EnumerateArray().Select(
            static field => $"{field.GetProperty("name")}={field.GetProperty("value")}"));

    private static HttpClient Admin(TunnelFixture tunnel) => new() { BaseAddress = new Uri($"http://{tunnel.Entry.Admin}") };

    private static async Task<(string Text, JsonElement Json)> GetAsync(HttpClient client, string path)
    {
        var text = await client.GetStringAsync(path);
        using var json = JsonDocument.Parse(text);
        return (text, json.RootElement.Clone());
    }
}
