using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.FunctionalTests.Upgrades.Http2;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Access;

/// <summary>Tunnels that only some may visit, with real visitors of every kind.</summary>
[Trait("Engine", "each")]
public sealed class AccessTests
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    private static readonly AccessUser _alice = new("alice", PasswordHash.Create("p\u00e4ss:word", PasswordHash.LeastIterations));

    public static TheoryData<string> Kinds => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task Who_has_no_login_is_asked_for_it_and_the_service_sees_nothing(string kind) => FrontVisitor.RunAsync(
        kind,
        WithLogin,
        [],
        static service => ServeAsync(service, static _ => { }),
        async visitor =>
        {
            foreach (var method in new[] { HttpMethod.Get, HttpMethod.Post, HttpMethod.Head, HttpMethod.Options })
            {
                using var request = Request(visitor, method, null);
                request.Content = method == HttpMethod.Post ? new StringContent("body") : null;
                using var answer = await visitor.Client.SendAsync(request);
                Assert.Equal(HttpStatusCode.Unauthorized, answer.StatusCode);
                Assert.Equal("login-required", Assert.Single(answer.Headers.GetValues("Tunnel2-Error")));
                Assert.Equal("Basic realm=\"Tunnel2\", charset=\"UTF-8\"", Assert.Single(answer.Headers.WwwAuthenticate).ToString());
            }
        });

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Who_logs_in_passes_and_the_service_learns_the_user_and_never_the_password(string kind)
    {
        var heads = new List<RawHttpHead>();
        await FrontVisitor.RunAsync(
            kind,
            WithLogin,
            [],
            service => ServeAsync(service, heads.Add),
            async visitor =>
            {
                for (var i = 0; i < 3; i++)
                {
                    using var request = Request(visitor, HttpMethod.Get, "alice:p\u00e4ss:word");
                    request.Headers.TryAddWithoutValidation("X-Tunnel2-User", "root");
                    request.Headers.TryAddWithoutValidation("x_tunnel2_user", "root");
                    request.Headers.TryAddWithoutValidation("X-Tunnel2-Groups", "admins");
                    using var answer = await visitor.Client.SendAsync(request);
                    Assert.Equal("ok", await answer.Content.ReadAsStringAsync());
                }

                using var wrong = Request(visitor, HttpMethod.Get, "alice:wrong");
                using var refused = await visitor.Client.SendAsync(wrong);
                Assert.Equal(HttpStatusCode.Unauthorized, refused.StatusCode);
            });
        Assert.Equal(3, heads.Count);
        Assert.All(heads, static head =>
        {
            Assert.Equal(["alice"], head.All("X-Tunnel2-User"));
            Assert.Null(head["Authorization"]);
            Assert.DoesNotContain("root", head.Text, StringComparison.Ordinal);
            Assert.DoesNotContain("admins", head.Text, StringComparison.Ordinal);
        });
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Without_rules_a_login_is_the_services_business_and_a_forged_user_is_removed(string kind)
    {
        var heads = new List<RawHttpHead>();
        await FrontVisitor.RunAsync(
            kind,
            static options => options,
            [],
            service => ServeAsync(service, heads.Add),
            async visitor =>
            {
                using var request = Request(visitor, HttpMethod.Get, "bob:b");
                request.Headers.TryAddWithoutValidation("X-Tunnel2-User", "root");
                using var answer = await visitor.Client.SendAsync(request);
                Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
            });
        var head = Assert.Single(heads);
        Assert.Equal((Basic("bob:b"), null), (head["Authorization"], head["X-Tunnel2-User"]));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task Guessing_ends_with_429_and_a_time_to_wait_and_who_is_in_stays_in(string kind) => FrontVisitor.RunAsync(
        kind,
        WithLogin,
        ["Access:FailuresPerMinute=3"],
        static service => ServeAsync(service, static _ => { }),
        async visitor =>
        {
            await ExpectAsync(visitor, "alice:p\u00e4ss:word", HttpStatusCode.OK);
            for (var i = 0; i < 3; i++)
            {
                await ExpectAsync(visitor, $"alice:{i}", HttpStatusCode.Unauthorized);
            }

            using var request = Request(visitor, HttpMethod.Get, "alice:4");
            using var answer = await visitor.Client.SendAsync(request);
            Assert.Equal(HttpStatusCode.TooManyRequests, answer.StatusCode);
            Assert.Equal("too-many-logins", Assert.Single(answer.Headers.GetValues("Tunnel2-Error")));
            Assert.InRange(answer.Headers.RetryAfter!.Delta!.Value.TotalSeconds, 1, 20);
            await ExpectAsync(visitor, "alice:p\u00e4ss:word", HttpStatusCode.OK);
        });

    [Fact]
    public Task Who_has_guessed_too_often_does_not_learn_which_login_is_right_for_others() => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var proxy = await tunnel.ConnectAsync();
            Assert.Equal(200, await LogInAsync("p\u00e4ss:word", "203.0.113.1"));
            for (var i = 0; i < 3; i++)
            {
                Assert.Equal(401, await LogInAsync($"{i}", "203.0.113.66"));
            }

            Assert.Equal(429, await LogInAsync("3", "203.0.113.66"));
            Assert.Equal(429, await LogInAsync("p\u00e4ss:word", "203.0.113.66"));
            Assert.Equal(200, await LogInAsync("p\u00e4ss:word", "203.0.113.2"));
            Assert.Equal(200, await LogInAsync("p\u00e4ss:word", "203.0.113.1"));

            async Task<int> LogInAsync(string password, string from)
            {
                var fields = $"Authorization: {Basic($"alice:{password}")}\r\nX-Forwarded-For: {from}\r\n";
                return (await proxy.ExchangeAsync("/", TunnelFixture.Host, fields: fields)).Head.StatusCode;
            }
        },
        new TunnelSetup
        {
            Settings = ["TrustedProxies=127.0.0.1", "Access:FailuresPerMinute=3"],
            Agent = WithLogin,
        });

    [Theory]
    [InlineData("text/html", "text/html")]
    [InlineData("*/*", "application/problem+json")]
    public Task A_refused_address_gets_the_page_that_it_asks_for(string accept, string type) => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: $"Accept: {accept}\r\n");
            Assert.Equal((403, "address-not-allowed"), (head.StatusCode, head["Tunnel2-Error"]));
            Assert.StartsWith(type, head["Content-Type"], StringComparison.Ordinal);
            Assert.Contains("Not from this address", body.Text(), StringComparison.Ordinal);
        },
        new TunnelSetup { Agent = static options => Allow(options, "192.0.2.0/24") });

    [Fact]
    public Task A_websocket_needs_the_login_too() => TunnelFixture.RunAsync(
        static async service =>
        {
            var head = await service.ReadHeadAsync();
            Assert.Equal("alice", head["X-Tunnel2-User"]);
            await service.WriteAsync("HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\n");
            await service.WriteAsync(await service.ReadExactlyAsync(5));
            await service.CloseAsync();
        },
        async tunnel =>
        {
            const string Upgrade = "Connection: Upgrade\r\nUpgrade: raw\r\n";
            await using var stranger = await tunnel.ConnectAsync();
            var (head, _) = await stranger.ExchangeAsync("/", TunnelFixture.Host, fields: Upgrade);
            Assert.Equal((401, "login-required"), (head.StatusCode, head["Tunnel2-Error"]));
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync(
                "/", TunnelFixture.Host, fields: $"{Upgrade}Authorization: {Basic("alice:p\u00e4ss:word")}\r\n");
            Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
            await visitor.WriteAsync("hello");
            Assert.Equal("hello"u8.ToArray(), await visitor.ReadExactlyAsync(5));
        },
        new TunnelSetup { Agent = WithLogin });

    [Theory]
    [InlineData("HTTP/2 over TLS")]
    [InlineData("HTTP/2 by preface")]
    public Task A_websocket_over_http2_needs_the_login(string kind) => FrontVisitor.WithCertificateAsync(setup => TunnelFixture.RunAsync(
        static async service =>
        {
            var head = await Http2Tunnel.SwitchAsync(service);
            Assert.Equal(("alice", null), (head["X-Tunnel2-User"], head["Authorization"]));
            await service.WriteAsync("hello");
            await service.CloseAsync();
        },
        async tunnel =>
        {
            var isTls = Http2Tunnel.IsTls(kind);
            await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
            var stranger = await visitor.ConnectAsync("/", Http2Tunnel.Scheme(kind));
            var (status, fields) = await stranger.ReadAnswerAsync();
            Assert.Equal((401, "login-required"), (status, fields["tunnel2-error"].Single()));
            var stream = await visitor.ConnectAsync(
                "/", Http2Tunnel.Scheme(kind), ("authorization", Basic("alice:p\u00e4ss:word")), ("x-tunnel2-user", "root"));
            Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
            Assert.Equal("hello"u8.ToArray(), await stream.ReadToEndAsync());
            await stream.WriteAsync(default, end: true);
        },
        setup with { Agent = WithLogin }));

    [Fact]
    public async Task A_request_that_waited_for_its_agent_needs_the_login_too()
    {
        var heads = new List<RawHttpHead>();
        await using var service = RawTcpServer.Start(connection => ServeAsync(connection, heads.Add));
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:a:Names=web", "Timeouts:Park=1m");
        await using var stranger = await RawHttpClient.ConnectAsync(entry.Http);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await stranger.SendRequestAsync("/stranger", TunnelFixture.Host);
        await visitor.SendRequestAsync("/alice", TunnelFixture.Host, fields: $"Authorization: {Basic("alice:p\u00e4ss:word")}\r\n");
        await entry.WaitForParkedAsync(2);
        await using var agent = await AgentFixture.StartReadyAsync(
            WithLogin(AgentFixture.Options(entry.Uplink.Port, service.Port)) with { Token = "t" });
        Assert.Equal(401, (await stranger.ReadHeadAsync()).StatusCode);
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        Assert.Equal("/alice", Assert.Single(heads).Target);
    }

    [Fact]
    public async Task Datagrams_of_who_is_not_allowed_reach_no_service()
    {
        using var service = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        service.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await TunnelFixture.RunAsync(
            ((IPEndPoint)service.LocalEndPoint!).Port,
            async tunnel =>
            {
                using var visitor = new UdpClient();
                visitor.Connect(IPAddress.Loopback, new Uri(Assert.Single(tunnel.Agent.Events.PublicUrls)).Port);
                await using var admin = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
                string metrics;
                do
                {
                    await visitor.SendAsync("?"u8.ToArray());
                    metrics = (await admin.ExchangeAsync("/metrics", "localhost")).Body.Text();
                }
                while (!metrics.Contains(
                    "tunnel2_entry_access_refused_total{error_type=\"address-not-allowed\"}", StringComparison.Ordinal));
                Assert.Equal(0, service.Available);
            },
            new TunnelSetup
            {
                Settings = [TcpTunnel.Ports().Replace("Tcp", "Udp", StringComparison.Ordinal)],
                Agent = static options => Allow(options, "192.0.2.0/24") with
                {
                    Kind = SessionKind.Udp,
                    Upstream = options.Upstream with { IsRaw = true, IsDatagram = true },
                },
            });
    }

    [Theory]
    [InlineData("203.0.113.5", 200)]
    [InlineData("10.0.0.1, 203.0.113.5", 200)]
    [InlineData("203.0.113.5, 10.0.0.1", 403)]
    [InlineData("198.51.100.1", 403)]
    [InlineData("203.0.113.5, nonsense", 403)]
    public Task Behind_a_trusted_proxy_its_word_counts_and_not_the_visitors(string forwardedFor, int status) => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var proxy = await tunnel.ConnectAsync();
            var (head, _) = await proxy.ExchangeAsync("/", TunnelFixture.Host, fields: $"X-Forwarded-For: {forwardedFor}\r\n");
            Assert.Equal(status, head.StatusCode);
        },
        new TunnelSetup
        {
            Settings = ["TrustedProxies=127.0.0.1"],
            Agent = static options => Allow(options, "203.0.113.0/24"),
        });

    [Fact]
    public Task Without_trust_the_visitors_own_word_counts_nothing() => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            const string Fields = "X-Forwarded-For: 203.0.113.5\r\nForwarded: for=203.0.113.5\r\nX-Real-IP: 203.0.113.5\r\n";
            Assert.Equal(403, (await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: Fields)).Head.StatusCode);
        },
        new TunnelSetup { Agent = static options => Allow(options, "203.0.113.0/24") });

    [Fact]
    public Task A_balancers_header_says_who_the_visitor_is() => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            foreach (var (source, status) in new[] { ("203.0.113.7", 200), ("198.51.100.7", 403) })
            {
                await using var balancer = await tunnel.ConnectAsync();
                await balancer.WriteAsync($"PROXY TCP4 {source} 198.51.100.1 4711 443\r\n");
                Assert.Equal(status, (await balancer.ExchangeAsync("/", TunnelFixture.Host)).Head.StatusCode);
            }
        },
        new TunnelSetup
        {
            Settings = ["TrustedProxies=127.0.0.1", "Public:ProxyProtocol=true"],
            Agent = static options => Allow(options, "203.0.113.0/24"),
        });

    [Fact]
    public Task A_tunnel_of_tcp_resets_who_is_not_allowed() => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        static async tunnel =>
        {
            // The reset may be there before the connect has returned.
            using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            var reset = await Assert.ThrowsAsync<SocketException>(async () =>
            {
                await visitor.ConnectAsync(TcpTunnel.EndPointOf(tunnel.Agent));
                await visitor.ReceiveAsync(new byte[1]);
            });
            Assert.Equal(SocketError.ConnectionReset, reset.SocketErrorCode);
        },
        TcpTunnel.Setup() with { Agent = static options => Allow(TcpTunnel.UseTcp(options), "192.0.2.0/24") });

    [Fact]
    public Task A_tunnel_of_tcp_serves_who_is_allowed() => TunnelFixture.RunAsync(
        static async service =>
        {
            await service.WriteAsync(await service.ReadExactlyAsync(5));
            await service.CloseAsync();
        },
        static async tunnel =>
        {
            await using var visitor = await TcpTunnel.VisitAsync(tunnel);
            await visitor.WriteAsync("hello");
            Assert.Equal("hello"u8.ToArray(), await visitor.ReadExactlyAsync(5));
        },
        TcpTunnel.Setup() with { Agent = static options => Allow(TcpTunnel.UseTcp(options), "127.0.0.0/8") });

    [Fact]
    public async Task A_login_for_a_tunnel_of_tcp_is_refused_with_the_reason()
    {
        await using var entry = await EntryFixture.StartAsync(null, TcpTunnel.Ports());
        await using var agent = AgentFixture.Start(WithLogin(TcpTunnel.UseTcp(AgentFixture.Options(entry.Uplink.Port, 1))));
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal(
            (ConnectionEndReason.RejectedPermanently, RejectionReason.AccessUnsupported), (end.Reason, end.Rejection!.Reason));
        Assert.Contains("tunnel of HTTP only", end.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("10.0.0.0/8", "127.0.0.0/8", 403)]
    [InlineData("127.0.0.0/8", "10.0.0.0/8", 403)]
    [InlineData("127.0.0.0/8", "127.0.0.1", 200)]
    public Task The_servers_rules_and_the_agents_both_have_to_allow(string servers, string agents, int status) => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            Assert.Equal(status, (await visitor.ExchangeAsync("/", TunnelFixture.Host)).Head.StatusCode);
        },
        new TunnelSetup
        {
            Settings = ["Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:a:AllowIp=" + servers],
            Agent = options => Allow(options, agents) with { Token = "t" },
        });

    [Fact]
    public Task Logins_that_the_server_asks_for_hold_for_an_agent_that_asks_for_none() => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            Assert.Equal(401, (await visitor.ExchangeAsync("/", TunnelFixture.Host)).Head.StatusCode);
            var login = $"Authorization: {Basic("alice:p\u00e4ss:word")}\r\n";
            Assert.Equal(200, (await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: login)).Head.StatusCode);
        },
        new TunnelSetup
        {
            Settings =
            [
                "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), $"Agents:a:BasicAuth={_alice.Name}:{_alice.Hash.ToText()}",
            ],
            Agent = static options => options with { Token = "t" },
        });

    [Fact]
    public Task A_grpc_client_gets_a_status_of_grpc() => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            var (head, _) = await visitor.ExchangeAsync(
                "/", TunnelFixture.Host, "POST", "Content-Type: application/grpc\r\nContent-Length: 0\r\n");
            Assert.Equal((200, "16", "login-required"), (head.StatusCode, head["Grpc-Status"], head["Tunnel2-Error"]));
        },
        new TunnelSetup { Agent = WithLogin });

    [Fact]
    public Task Refusals_are_counted_by_their_reason() => TunnelFixture.RunAsync(
        static service => ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.ExchangeAsync("/", TunnelFixture.Host);
            await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: $"Authorization: {Basic("a:b")}\r\n");
            await using var admin = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
            var metrics = (await admin.ExchangeAsync("/metrics", "localhost")).Body.Text();
            Assert.Contains(
                "tunnel2_entry_access_refused_total{error_type=\"login-required\"} 2\n", metrics, StringComparison.Ordinal);
            Assert.Contains("tunnel2_entry_access_logins_total{outcome=\"failed\"} 1\n", metrics, StringComparison.Ordinal);
        },
        new TunnelSetup { Agent = WithLogin });

    private static async Task ServeAsync(RawConnection service, Action<RawHttpHead> heard)
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

    private static async Task ExpectAsync(FrontVisitor visitor, string login, HttpStatusCode status)
    {
        using var request = Request(visitor, HttpMethod.Get, login);
        using var answer = await visitor.Client.SendAsync(request);
        Assert.Equal(status, answer.StatusCode);
    }

    private static HttpRequestMessage Request(FrontVisitor visitor, HttpMethod method, string? login)
    {
        var request = new HttpRequestMessage(method, "/")
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.Authorization = login is null ? null : AuthenticationHeaderValue.Parse(Basic(login));
        return request;
    }

    private static string Basic(string pair) => "Basic " + Convert.ToBase64String(Encoding.UTF8.GetBytes(pair));

    private static AgentOptions WithLogin(AgentOptions options) => options with { Access = new AccessRules { Users = [_alice] } };

    private static AgentOptions Allow(AgentOptions options, string networks)
    {
        Assert.Null(AccessOptionsParser.ReadAllowed(networks, ref options));
        return options;
    }
}
