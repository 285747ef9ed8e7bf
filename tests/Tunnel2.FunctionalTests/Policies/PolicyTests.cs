using System.Net;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.FunctionalTests.Upgrades.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Policies;

/// <summary>Tunnels with a policy, with real visitors of every kind.</summary>
[Trait("Engine", "each")]
public sealed class PolicyTests
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: secret/1.0\r\nX-Kept: 1\r\n\r\nok";

    public static TheoryData<string> Kinds => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Rows_deny_redirect_answer_and_let_pass_before_the_service_sees_anything(string kind)
    {
        var heads = new List<RawHttpHead>();
        await FrontVisitor.RunAsync(
            kind,
            Policy("""
                { "path": "/health", "method": "GET", "allow": true },
                { "path": "/admin/**", "deny": true },
                { "path": "/old/**", "redirect": "https://new.example.com", "status": 308, "keep-path": true },
                { "path": "/down", "answer": { "status": 503, "body": "back soon", "headers": { "Retry-After": "60" } } },
                { "path": "/none", "answer": { "status": 204 } }
                """),
            [],
            service => ServeAsync(service, heads.Add),
            async visitor =>
            {
                foreach (var path in new[] { "/admin", "/ADMIN/x", "//admin/x", "/a/..%2fadmin", "/%61dmin", "/admin;v=1" })
                {
                    using var denied = await SendAsync(visitor, HttpMethod.Get, path);
                    Assert.Equal((HttpStatusCode.Forbidden, "policy-denied"), (denied.StatusCode, CodeOf(denied)));
                }

                using var moved = await SendAsync(visitor, HttpMethod.Post, "/old/a?b=c");
                Assert.Equal(HttpStatusCode.PermanentRedirect, moved.StatusCode);
                Assert.Equal("https://new.example.com/old/a?b=c", moved.Headers.Location!.OriginalString);
                using var down = await SendAsync(visitor, HttpMethod.Get, "/down");
                Assert.Equal((HttpStatusCode.ServiceUnavailable, "back soon"), (down.StatusCode, await down.Content.ReadAsStringAsync()));
                Assert.Equal(TimeSpan.FromSeconds(60), down.Headers.RetryAfter!.Delta);
                using var head = await SendAsync(visitor, HttpMethod.Head, "/down");
                Assert.Equal((HttpStatusCode.ServiceUnavailable, 9), (head.StatusCode, head.Content.Headers.ContentLength));
                using var none = await SendAsync(visitor, HttpMethod.Get, "/none");
                Assert.Equal(HttpStatusCode.NoContent, none.StatusCode);
                using var passed = await SendAsync(visitor, HttpMethod.Get, "/health");
                Assert.Equal("ok", await passed.Content.ReadAsStringAsync());
            });
        Assert.Equal("/health", Assert.Single(heads).Target);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Headers_are_added_set_and_removed_in_both_directions(string kind)
    {
        var heads = new List<RawHttpHead>();
        await FrontVisitor.RunAsync(
            kind,
            Policy("""
                { "set-request-header": { "X-Role": "guest", "Authorization": "Bearer k1" }, "add-request-header": { "X-More": "2" },
                  "remove-request-header": "X-Gone", "remove-response-header": "Server", "set-response-header": { "X-Kept": "2" },
                  "add-response-header": { "X-New": "3" } },
                { "path": "/late", "remove-request-header": "X-More" }
                """),
            [],
            service => ServeAsync(service, heads.Add),
            async visitor =>
            {
                foreach (var path in new[] { "/", "/late" })
                {
                    using var answer = await SendAsync(
                        visitor, HttpMethod.Get, path,
                        ("X-Role", "admin"), ("x_role", "admin"), ("X-More", "1"), ("X-Gone", "1"), ("X-Other", "1"));
                    Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
                    Assert.False(answer.Headers.Contains("Server"));
                    Assert.Equal("2", Assert.Single(answer.Headers.GetValues("X-Kept")));
                    Assert.Equal("3", Assert.Single(answer.Headers.GetValues("X-New")));
                }
            });
        Assert.Equal(2, heads.Count);
        Assert.All(heads, static head =>
        {
            Assert.Equal(["guest"], head.All("X-Role"));
            Assert.Empty(head.All("x_role"));
            Assert.Equal(["Bearer k1"], head.All("Authorization"));
            Assert.Empty(head.All("X-Gone"));
            Assert.Equal(["1"], head.All("X-Other"));
        });
        Assert.Equal(["1", "2"], heads[0].All("X-More"));
        Assert.Empty(heads[1].All("X-More"));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_rate_ends_with_429_for_each_key(string kind) => FrontVisitor.RunAsync(
        kind,
        Policy("""{ "rate-limit": { "rate": "1/hour", "burst": 2, "per-header": "X-Key" } }"""),
        [],
        static service => ServeAsync(service, static _ => { }),
        async visitor =>
        {
            foreach (var key in new[] { "a", "b", null })
            {
                (string, string)[] fields = key is null ? [] : [("X-Key", key)];
                for (var i = 0; i < 2; i++)
                {
                    using var passed = await SendAsync(visitor, HttpMethod.Get, "/", fields);
                    Assert.Equal(HttpStatusCode.OK, passed.StatusCode);
                }

                using var limited = await SendAsync(visitor, HttpMethod.Get, "/", fields);
                Assert.Equal((HttpStatusCode.TooManyRequests, "policy-rate-limit"), (limited.StatusCode, CodeOf(limited)));
                Assert.InRange(limited.Headers.RetryAfter!.Delta!.Value.TotalSeconds, 3500, 3600);
            }
        });

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_body_beyond_its_limit_is_413_declared_or_not(string kind) => FrontVisitor.RunAsync(
        kind,
        Policy("""{ "path": "/up", "body-limit": "1KB" }"""),
        [],
        static async service =>
        {
            try
            {
                while (true)
                {
                    var head = await service.ReadHeadAsync();
                    await service.ReadBodyAsync(head, head.Method);
                    await service.WriteAsync(Ok);
                }
            }
            catch (RawConnectionEndedException)
            {
                // A body that was cut ends the connection.
            }
        },
        async visitor =>
        {
            foreach (var (path, length, isChunked, status) in new[]
            {
                ("/up", 1024, false, 200), ("/up", 1024, true, 200), ("/up", 1025, false, 413), ("/up", 40_000, true, 413),
                ("/x", 40_000, true, 200),
            })
            {
                using var request = Request(visitor, HttpMethod.Post, path);
                request.Content = new ByteArrayContent(new byte[length]);
                request.Headers.TransferEncodingChunked = isChunked && visitor.Version.Major == 1 ? true : null;
                using var answer = await visitor.Client.SendAsync(request);
                Assert.Equal(status, (int)answer.StatusCode);
                Assert.Equal(status == 413 ? "request-body-too-large" : null, CodeOf(answer));
            }
        });

    [Fact]
    public Task A_body_that_waits_for_a_100_is_refused_without_one() => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/", TunnelFixture.Host, "POST", "Content-Length: 2000\r\nExpect: 100-continue\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((413, "request-body-too-large"), (head.StatusCode, head["Tunnel2-Error"]));
        },
        new TunnelSetup { Agent = Policy("""{ "body-limit": "1KB" }""") });

    [Fact]
    public Task A_service_that_is_too_slow_for_a_row_gets_504() => TunnelFixture.RunAsync(
        static async service =>
        {
            await service.ReadHeadAsync();
            await service.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            var (head, _) = await visitor.ExchangeAsync("/slow", TunnelFixture.Host);
            Assert.Equal((504, "backend-timeout"), (head.StatusCode, head["Tunnel2-Error"]));
        },
        new TunnelSetup { Agent = Policy("""{ "path": "/slow", "timeout": "1s" }""") });

    [Fact]
    public Task A_websocket_walks_through_the_rows_too() => TunnelFixture.RunAsync(
        static async service =>
        {
            Assert.Equal("guest", (await service.ReadHeadAsync())["X-Role"]);
            await service.WriteAsync("HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\n");
            await service.WriteAsync(await service.ReadExactlyAsync(5));
            await service.CloseAsync();
        },
        async tunnel =>
        {
            const string Upgrade = "Connection: Upgrade\r\nUpgrade: raw\r\n";
            await using var stranger = await tunnel.ConnectAsync();
            var (head, _) = await stranger.ExchangeAsync("/no/ws", TunnelFixture.Host, fields: Upgrade);
            Assert.Equal((403, "policy-denied"), (head.StatusCode, head["Tunnel2-Error"]));
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/ws", TunnelFixture.Host, fields: Upgrade);
            var switched = await visitor.ReadHeadAsync();
            Assert.Equal((101, "1"), (switched.StatusCode, switched["X-New"]));
            await visitor.WriteAsync("hello");
            Assert.Equal("hello"u8.ToArray(), await visitor.ReadExactlyAsync(5));
        },
        new TunnelSetup
        {
            Agent = Policy("""
                { "path": "/no/**", "deny": true },
                { "set-request-header": { "X-Role": "guest" }, "add-response-header": { "X-New": "1" } }
                """),
        });

    [Theory]
    [InlineData("HTTP/2 over TLS")]
    [InlineData("HTTP/2 by preface")]
    public Task A_row_about_websockets_holds_over_http2_too(string kind) => FrontVisitor.WithCertificateAsync(
        setup => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            var isTls = Http2Tunnel.IsTls(kind);
            await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
            var (status, fields) = await (await visitor.ConnectAsync("/", Http2Tunnel.Scheme(kind))).ReadAnswerAsync();
            Assert.Equal((403, "policy-denied"), (status, fields["tunnel2-error"].Single()));
        },
        setup with { Agent = Policy("""{ "header": { "Upgrade": "websocket", "Connection": "upgrade" }, "deny": true }""") }));

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_field_with_another_sign_is_doubtful_where_a_field_must_be_missing_too(string kind) => FrontVisitor.RunAsync(
        kind,
        Policy("""
            { "path": "/in", "header": { "X-Debug": false }, "allow": true }, { "path": "/in", "deny": true },
            { "header": { "X-Key": false }, "deny": true }
            """),
        [],
        static service => ServeAsync(service, static _ => { }),
        async visitor =>
        {
            using var denied = await SendAsync(visitor, HttpMethod.Get, "/", ("X_Key", "1"));
            Assert.Equal(HttpStatusCode.Forbidden, denied.StatusCode);
            using var passed = await SendAsync(visitor, HttpMethod.Get, "/", ("X-Key", "1"));
            Assert.Equal(HttpStatusCode.OK, passed.StatusCode);
            using var doubtful = await SendAsync(visitor, HttpMethod.Get, "/in", ("X_Debug", "1"));
            Assert.Equal(HttpStatusCode.Forbidden, doubtful.StatusCode);
            using var without = await SendAsync(visitor, HttpMethod.Get, "/in", ("X-Other", "1"));
            Assert.Equal(HttpStatusCode.OK, without.StatusCode);
        });

    /// <summary>The service does not get such a field, so a row that wants it there must not find it.</summary>
    [Theory]
    [InlineData("X-Key: 1\r\n", 200)]
    [InlineData("X-Key: 1\r\nConnection: x-key\r\n", 403)]
    [InlineData("X-Key: 1\r\nConnection: close, X-Key\r\n", 403)]
    [InlineData("X-Key: 1\r\nUpgrade: other\r\nConnection: upgrade, x-other\r\n", 418)]
    public Task A_field_that_the_visitor_lists_in_Connection_is_not_there(string fields, int status) => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/", TunnelFixture.Host, "GET", fields);
            Assert.Equal(status, (await visitor.ReadHeadAsync()).StatusCode);
        },
        new TunnelSetup
        {
            Agent = Policy("""
                { "header": { "Upgrade": "other" }, "answer": { "status": 418 } },
                { "header": { "X-Key": "1" }, "allow": true }, { "deny": true }
                """),
        });

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_field_with_another_sign_is_the_field_that_a_row_is_about(string kind) => FrontVisitor.RunAsync(
        kind,
        Policy("""{ "path": "/in", "header": { "X-Env": "beta" }, "allow": true }, { "header": { "X-Env": true }, "deny": true }"""),
        [],
        static service => ServeAsync(service, static _ => { }),
        async visitor =>
        {
            using var denied = await SendAsync(visitor, HttpMethod.Get, "/", ("X_Env", "beta"));
            Assert.Equal(HttpStatusCode.Forbidden, denied.StatusCode);

            // Where a row lets pass, only the name that it has written.
            using var doubtful = await SendAsync(visitor, HttpMethod.Get, "/in", ("X_Env", "beta"));
            Assert.Equal(HttpStatusCode.Forbidden, doubtful.StatusCode);
            using var passed = await SendAsync(visitor, HttpMethod.Get, "/in", ("X-Env", "beta"));
            Assert.Equal(HttpStatusCode.OK, passed.StatusCode);
            using var without = await SendAsync(visitor, HttpMethod.Get, "/", ("X-Other", "1"));
            Assert.Equal(HttpStatusCode.OK, without.StatusCode);
        });

    [Fact]
    public Task What_a_row_sets_or_removes_does_not_come_in_a_trailer() => TunnelFixture.RunAsync(
        static async service =>
        {
            var head = await service.ReadHeadAsync();
            Assert.Equal("staging", head["X-Env"]);
            Assert.Equal(["X-Kept"], head.All("Trailer"));
            Assert.Equal("2\r\nhi\r\n0\r\nX-Kept: 1\r\n\r\n", await service.ReadThroughAsync("\r\n\r\n"));
            await service.WriteAsync(Ok);
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n"
                + "Trailer: X-Env, X-Kept\r\nTrailer: X_Gone\r\n\r\n2\r\nhi\r\n0\r\nX-Env: prod\r\nX_Gone: 1\r\nX-Kept: 1\r\n\r\n");
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        },
        new TunnelSetup { Agent = Policy("""{ "set-request-header": { "X-Env": "staging" }, "remove-request-header": "X-Gone" }""") });

    [Theory]
    [InlineData("HTTP/2 over TLS")]
    [InlineData("HTTP/2 by preface")]
    public Task A_websocket_over_http2_is_a_get(string kind) => FrontVisitor.WithCertificateAsync(setup => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            var isTls = Http2Tunnel.IsTls(kind);
            await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
            var (status, fields) = await (await visitor.ConnectAsync("/", Http2Tunnel.Scheme(kind))).ReadAnswerAsync();
            Assert.Equal((403, "policy-denied"), (status, fields["tunnel2-error"].Single()));
        },
        setup with { Agent = Policy("""{ "method": "GET", "deny": true }""") }));

    [Theory]
    [InlineData("/server", 403, "policy-denied")]
    [InlineData("/agent", 403, "policy-denied")]
    [InlineData("/", 200, null)]
    public async Task The_servers_rows_come_first_and_its_headers_last(string path, int status, string? code)
    {
        using var folder = new TemporaryFolder();
        var file = folder["policy.json"];
        await File.WriteAllTextAsync(
            file,
            """
            [
              { "path": "/server", "deny": true },
              { "set-request-header": { "X-By": "server" } },
              { "path": "/agent", "allow": true },
              { "path": "/x", "deny": true }
            ]
            """);
        await TunnelFixture.RunAsync(
            static service => ServeAsync(service, static head => Assert.Equal(["server"], head.All("X-By"))),
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                var (head, _) = await visitor.ExchangeAsync(path, TunnelFixture.Host);
                Assert.Equal((status, code), (head.StatusCode, head["Tunnel2-Error"]));
            },
            new TunnelSetup
            {
                Settings = ["Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:a:Policy=" + file],
                Agent = static options => Policy("""
                    { "path": "/server", "allow": true }, { "path": "/agent", "deny": true }, { "set-request-header": { "X-By": "agent" } }
                    """)(options) with { Token = "t" },
            });
    }

    [Fact]
    public async Task A_policy_about_countries_is_refused_where_no_proxy_says_them()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = AgentFixture.Start(
            Policy("""{ "country": "DE", "deny": true }""")(AgentFixture.Options(entry.Uplink.Port, 1)));
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal(RejectionReason.AccessUnsupported, end.Rejection!.Reason);
        Assert.Contains("no header of a trusted proxy", end.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_policy_that_contradicts_itself_is_refused_by_the_server_too()
    {
        await using var entry = await EntryFixture.StartAsync(null, TcpTunnel.Ports());
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, 1) with
        {
            Access = new() { Policy = Encoding.UTF8.GetBytes("""[{"deny":true},{"path":"/a","deny":true},{"allow":true}]""") },
        });
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        Assert.Contains("row 2: no request reaches it", Assert.Single(agent.Events.Ends).Message, StringComparison.Ordinal);
        await using var other = AgentFixture.Start(
            TcpTunnel.UseTcp(Policy("""{ "deny": true }""")(AgentFixture.Options(entry.Uplink.Port, 1))));
        Assert.Equal(AgentExitCode.Rejected, await other.Completion);
        Assert.Contains("Only a tunnel of HTTP", Assert.Single(other.Events.Ends).Message, StringComparison.Ordinal);
    }

    [Fact]
    public Task Refusals_and_answers_are_counted() => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.ExchangeAsync("/no", TunnelFixture.Host);
            await visitor.ExchangeAsync("/to", TunnelFixture.Host);
            await visitor.ExchangeAsync("/to", TunnelFixture.Host);
            await using var admin = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
            var metrics = (await admin.ExchangeAsync("/metrics", "localhost")).Body.Text();
            Assert.Contains("tunnel2_entry_access_refused_total{error_type=\"policy-denied\"} 1\n", metrics, StringComparison.Ordinal);
            Assert.Contains("tunnel2_entry_policy_answers_total{action=\"redirect\"} 2\n", metrics, StringComparison.Ordinal);
        },
        new TunnelSetup { Agent = Policy("""{ "path": "/no", "deny": true }, { "path": "/to", "redirect": "/" }""") });

    internal static Func<AgentOptions, AgentOptions> Policy(string rows) => options =>
    {
        Assert.Null(PolicyOptionsParser.Read($"[{rows}]", ref options));
        return options;
    };

    internal static async Task ServeAsync(RawConnection service, Action<RawHttpHead> heard)
    {
        while (true)
        {
            RawHttpHead head;
            try
            {
                head = await service.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            heard(head);
            await service.WriteAsync(Ok);
        }
    }

    private static string? CodeOf(HttpResponseMessage answer) =>
        answer.Headers.TryGetValues("Tunnel2-Error", out var values) ? Assert.Single(values) : null;

    private static async Task<HttpResponseMessage> SendAsync(
        FrontVisitor visitor, HttpMethod method, string path, params (string Name, string Value)[] fields)
    {
        using var request = Request(visitor, method, path);
        foreach (var (name, value) in fields)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        return await visitor.Client.SendAsync(request);
    }

    private static HttpRequestMessage Request(FrontVisitor visitor, HttpMethod method, string path) =>
        new(method, new Uri(visitor.Client.BaseAddress!.GetLeftPart(UriPartial.Authority) + path, new UriCreationOptions
        {
            DangerousDisablePathAndQueryCanonicalization = true,
        }))
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
}
