using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Tests.Console;

public sealed class HumanEventFormatterTests
{
    private static readonly DateTimeOffset _time = new(2026, 11, 21, 10, 11, 12, 345, TimeSpan.Zero);
    private static readonly BackendTarget _upstream = new(false, "127.0.0.1", 3000);

    private static readonly ConnectionEnd _refused =
        ConnectionEnd.Unreachable(ConnectFailure.Create(ServerEndpoint.Default, ConnectFailureReason.Refused));

    private static async Task<string[]> LinesOf(bool verbose, bool resolves, params AgentEvent[] events)
    {
        var formatter = new HumanEventFormatter(ServerEndpoint.Default, verbose, (_, _) => Task.FromResult(resolves));
        using var output = new StringWriter { NewLine = "\n" };
        foreach (AgentEvent agentEvent in events)
        {
            await formatter.WriteAsync(agentEvent, output, TestContext.Current.CancellationToken);
        }

        return output.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }

    private static ReadyEvent Ready(params string[] urls) => new(_time, urls, _upstream);

    [Fact]
    public async Task Ready_is_one_line_where_the_name_resolves() =>
        Assert.Equal(
            ["Forwarding http://web.localhost:12000 -> http://127.0.0.1:3000"],
            await LinesOf(false, resolves: true, Ready("http://web.localhost:12000")));

    [Fact]
    public async Task Ready_shows_how_to_try_it_where_the_name_does_not_resolve() =>
        Assert.Equal(
            [
                "Forwarding http://web.localhost:12000 -> http://127.0.0.1:3000",
                "Try: curl -H 'Host: web.localhost' http://127.0.0.1:12000/",
            ],
            await LinesOf(false, resolves: false, Ready("http://web.localhost:12000")));

    [Fact]
    public async Task Ready_shows_every_public_url_and_one_hint() =>
        Assert.Equal(
            [
                "Forwarding https://web.localhost:12443 -> http://127.0.0.1:3000",
                "Forwarding http://web.localhost:12000 -> http://127.0.0.1:3000",
                "Try: curl -H 'Host: web.localhost' http://127.0.0.1:12000/",
            ],
            await LinesOf(false, resolves: false, Ready("https://web.localhost:12443/", "http://web.localhost:12000/")));

    [Theory]
    [InlineData("http://web.localhost:12000", true)]
    [InlineData("https://web.localhost:12443", false)]
    public async Task Certificates_of_visitors_at_a_server_without_https_let_no_visitor_in(string url, bool isSaid)
    {
        var rules = new AccessRules { ClientAuthorities = [new byte[1]] };
        var formatter = new HumanEventFormatter(ServerEndpoint.Default, false, (_, _) => Task.FromResult(false), access: rules);
        using var output = new StringWriter { NewLine = "\n" };
        await formatter.WriteAsync(Ready(url), output, TestContext.Current.CancellationToken);
        Assert.Equal(
            isSaid ? "No visitor gets in: --client-ca wants certificates, and the server has no HTTPS to show them\n" : "",
            output.ToString()[(output.ToString().IndexOf('\n', StringComparison.Ordinal) + 1)..]);

        using var json = new StringWriter();
        await new JsonEventFormatter(ServerEndpoint.Default, access: rules)
            .WriteAsync(Ready(url), json, TestContext.Current.CancellationToken);
        Assert.Equal(isSaid, json.ToString().Contains("\"message\":\"No visitor gets in: --client-ca", StringComparison.Ordinal));
    }

    [Fact]
    public async Task The_way_to_the_server_is_a_line_where_it_is_not_the_usual_one_or_changes()
    {
        var direct = new RouteEvent(_time, new UplinkRoute(UplinkWay.Direct, new ServerEndpoint("t.example", 12001), null, null));
        var webSocket = new RouteEvent(
            _time, new UplinkRoute(UplinkWay.WebSocket, new ServerEndpoint("t.example", 443), "http://p:3128", "It was refused."));
        Assert.Empty(await LinesOf(false, resolves: true, direct, direct));
        Assert.Equal(
            [
                "Uplink: over WebSocket at t.example:443 through the proxy http://p:3128, until the uplink port can be reached. "
                    + "It was refused.",
                "Uplink: t.example:12001",
            ],
            await LinesOf(false, resolves: true, direct, webSocket, webSocket, direct, direct));
    }

    [Fact]
    public async Task An_outage_is_reported_once_however_many_attempts_fail()
    {
        var connecting = new ConnectingEvent(_time, ServerEndpoint.Default);
        var ended = new ConnectionEndedEvent(_time, _refused);
        var waiting = new ReconnectingEvent(_time, TimeSpan.FromSeconds(0.25));

        Assert.Equal(
            [
                "Connecting to 127.0.0.1:12001",
                _refused.Message,
                "Trying again until the server takes the session",
                "Forwarding http://a.localhost -> http://127.0.0.1:3000",
                "Disconnected after 1 h 2 min: reset by peer",
                "Trying again until the server takes the session",
                _refused.Message,
            ],
            await LinesOf(
                false,
                resolves: true,
                connecting, ended, waiting, connecting, ended, waiting, connecting, ended, waiting,
                Ready("http://a.localhost"),
                new ConnectionEndedEvent(_time, ConnectionEnd.Lost("reset by peer", new TimeSpan(1, 2, 3))),
                waiting, connecting, ended, waiting, connecting, ended));
    }

    [Fact]
    public async Task Another_reason_within_an_outage_is_reported()
    {
        ConnectionEnd busy = ConnectionEnd.RejectedForNow(new Rejection(RejectionReason.Busy, "busy", "full"));

        Assert.Equal(
            [_refused.Message, busy.Message, _refused.Message],
            await LinesOf(
                false,
                resolves: true,
                new ConnectionEndedEvent(_time, _refused),
                new ConnectionEndedEvent(_time, busy),
                new ConnectionEndedEvent(_time, _refused)));
    }

    [Fact]
    public async Task Verbose_reports_every_attempt_and_its_delay()
    {
        AgentEvent[] attempt =
        [
            new ConnectingEvent(_time, ServerEndpoint.Default),
            new ConnectionEndedEvent(_time, _refused),
            new ReconnectingEvent(_time, TimeSpan.FromSeconds(1.26)),
        ];
        string[] lines = ["Connecting to 127.0.0.1:12001", _refused.Message, "Trying again in 1.3 s"];

        string[] written = await LinesOf(true, resolves: true, [.. attempt, .. attempt]);

        Assert.Equal([.. lines, .. lines], written);
    }

    [Fact]
    public async Task Other_changes_of_state_have_a_line_each() =>
        Assert.Equal(
            [
                "The server is going away.",
                "Another agent with the same identity took the name over.",
                "Draining: finishing the requests under way",
                "Stopped",
                "This process may have only 230 files open, and each request under way needs some: raise the limit for more (ulimit -n, "
                    + "LimitNOFILE)",
                "(3 lines dropped: the output was too slow)",
            ],
            await LinesOf(
                false,
                resolves: true,
                new ConnectionEndedEvent(_time, ConnectionEnd.GoingAway(TimeSpan.Zero)),
                new ConnectionEndedEvent(_time, ConnectionEnd.Superseded(TimeSpan.Zero)),
                new DrainingEvent(_time),
                new StoppedEvent(_time),
                new FewFilesEvent(_time, 230),
                new LinesDroppedEvent(_time, 3)));

    [Fact]
    public async Task A_request_is_one_line_without_its_query() =>
        Assert.Equal(
            [
                "10:11:12.345 GET /a 200 1.3 ms, 0 B in, 1024 B out",
                "10:11:12.345 POST /b - 20.0 ms, 7 B in, 0 B out: connection refused",
            ],
            await LinesOf(
                true,
                resolves: true,
                new RequestCompletedEvent(
                    _time, new RequestSummary("GET", "/a?token=s3cret", 200, TimeSpan.FromMilliseconds(1.26), 0, 1024)),
                new RequestCompletedEvent(
                    _time,
                    new RequestSummary("POST", "/b", 0, TimeSpan.FromMilliseconds(20), 7, 0, "connection refused"))));

    [Fact]
    public async Task A_request_that_failed_names_the_leg() =>
        Assert.Equal(
            ["10:11:12.345 GET / - 1.0 ms, 0 B in, 0 B out: backend: connection refused"],
            await LinesOf(
                true,
                resolves: true,
                new RequestCompletedEvent(
                    _time, new RequestSummary("GET", "/", 0, TimeSpan.FromMilliseconds(1), 0, 0, "connection refused", "backend"))));

    [Fact]
    public async Task A_backend_that_sends_too_much_and_a_shortage_of_connections_have_lines() =>
        Assert.Equal(
            ["Too much.", "All in use.", "Cut."],
            await LinesOf(
                false,
                resolves: true,
                new BackendSurplusEvent(_time, _upstream, "Too much."),
                new BackendConnectionsShortEvent(_time, 20, 3, "All in use."),
                new UploadsCutEvent(_time, 7, 200, 256, "Cut.")));

    [Fact]
    public async Task A_backend_that_is_down_and_back_has_a_line_each_time() =>
        Assert.Equal(
            ["Nothing listens at http://127.0.0.1:3000", "The service at http://127.0.0.1:3000 can be reached now"],
            await LinesOf(
                false,
                resolves: true,
                new BackendUnreachableEvent(_time, _upstream, "Nothing listens at http://127.0.0.1:3000"),
                new BackendReachableEvent(_time, _upstream)));

    [Theory]
    [InlineData(12.34, "12.3 s")]
    [InlineData(59.9, "59.9 s")]
    [InlineData(65, "1 min 5 s")]
    [InlineData(100_000, "27 h 46 min")]
    public async Task A_loss_says_how_long_the_connection_lived(double seconds, string words) =>
        Assert.Equal(
            [$"Disconnected after {words}: The server closed the connection."],
            await LinesOf(
                false,
                resolves: true,
                new ConnectionEndedEvent(_time, ConnectionEnd.Lost("The server closed the connection.", TimeSpan.FromSeconds(seconds)))));

    [Fact]
    public async Task Of_several_tunnels_each_has_its_own_memory_and_its_name_before_its_lines()
    {
        var byTunnel = new[] { "web", "api" }.ToDictionary(
            static name => name,
            static name =>
                (IAgentEventFormatter)new HumanEventFormatter(
                    ServerEndpoint.Default, false, static (_, _) => Task.FromResult(true), $"[{name}] "));
        var formatter = new TunnelsEventFormatter(byTunnel, byTunnel["web"]);
        using var output = new StringWriter { NewLine = "\n" };
        foreach (string tunnel in byTunnel.Keys)
        {
            for (int attempt = 0; attempt < 2; attempt++)
            {
                await formatter.WriteAsync(
                    new ConnectingEvent(_time, ServerEndpoint.Default) { Tunnel = tunnel }, output, TestContext.Current.CancellationToken);
            }

            await formatter.WriteAsync(
                Ready($"http://{tunnel}.localhost") with { Tunnel = tunnel }, output, TestContext.Current.CancellationToken);
        }

        Assert.Equal(
            [
                "[web] Connecting to 127.0.0.1:12001",
                "Forwarding http://web.localhost -> http://127.0.0.1:3000",
                "[api] Connecting to 127.0.0.1:12001",
                "Forwarding http://api.localhost -> http://127.0.0.1:3000",
            ],
            output.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    [Fact]
    public async Task Text_from_the_network_cannot_steer_the_terminal()
    {
        var rejection = new Rejection(RejectionReason.Other, "odd", "\u001b[2J\r\nForwarding http://evil \u202e\u200b\u009b1m");

        string line = Assert.Single(await LinesOf(
            false,
            resolves: true,
            new ConnectionEndedEvent(_time, ConnectionEnd.RejectedPermanently(rejection))));

        Assert.DoesNotContain(line, char.IsControl);
        Assert.Contains("?[2J??Forwarding http://evil ???1m", line, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://web.localhost:12000", "127.0.0.1", "curl -H 'Host: web.localhost' http://127.0.0.1:12000/")]
    [InlineData("http://web.example.com", "203.0.113.5", "curl -H 'Host: web.example.com' http://203.0.113.5/")]
    [InlineData("http://web.localhost:12000", "::1", "curl -H 'Host: web.localhost' http://[::1]:12000/")]
    [InlineData("https://web.example.com", "entry", "curl --connect-to web.example.com:443:entry:443 https://web.example.com/")]
    [InlineData("https://web.example.com:8443 http://web.example.com:8080", "entry", "curl -H 'Host: web.example.com' http://entry:8080/")]
    [InlineData(
        "https://web.localhost:8443", "127.0.0.1", "curl -k --connect-to web.localhost:8443:127.0.0.1:8443 https://web.localhost:8443/")]
    [InlineData("nonsense https://web.example.com", "entry", "curl --connect-to web.example.com:443:entry:443 https://web.example.com/")]
    [InlineData("tcp://web.example.com:1", "entry", null)]
    [InlineData("https://$(reboot)@web.example.com", "entry", null)]
    [InlineData("https://a;b@web.example.com", "entry", null)]
    [InlineData("nonsense", "entry", null)]
    [InlineData("", "entry", null)]
    public void The_hint_goes_to_the_server_s_host(string urls, string serverHost, string? hint) =>
        Assert.Equal(hint, new CurlHint(new ServerEndpoint(serverHost, 12001), isInContainer: false).For(urls.Split(' ')));

    [Theory]
    [InlineData("http://web.localhost:12000", "entry", "curl -H 'Host: web.localhost' http://127.0.0.1:12000/")]
    [InlineData(
        "https://web.localhost:8443", "entry", "curl -k --connect-to web.localhost:8443:127.0.0.1:8443 https://web.localhost:8443/")]
    [InlineData("http://web.example.com", "entry", null)]
    [InlineData("http://web.example.com", "tunnel.example.com", "curl -H 'Host: web.example.com' http://tunnel.example.com/")]
    [InlineData("http://web.localhost:12000", "10.0.0.5", "curl -H 'Host: web.localhost' http://10.0.0.5:12000/")]
    [InlineData("http://web.localhost:12000", "localhost", "curl -H 'Host: web.localhost' http://localhost:12000/")]
    public void In_a_container_the_hint_names_no_neighbour_that_only_the_agent_knows(string url, string serverHost, string? hint) =>
        Assert.Equal(hint, new CurlHint(new ServerEndpoint(serverHost, 12001), isInContainer: true).For([url]));

    [Fact]
    public void Where_visitors_sign_in_or_show_a_certificate_plain_curl_is_no_hint()
    {
        AccessRules[] all = [new() { Gate = "staff" }, new() { ClientAuthorities = [new byte[1]] }];
        Assert.All(all, static rules => Assert.Null(Hint(rules)));
        Assert.NotNull(Hint(new AccessRules { Users = [] }));
        Assert.NotNull(Hint(null));

        static string? Hint(AccessRules? rules) =>
            new CurlHint(new ServerEndpoint("127.0.0.1", 12001), access: rules).For(["http://web.localhost:12000"]);
    }

    [Theory]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public void A_certificate_that_only_the_agents_settings_trust_is_not_checked_by_curl(bool hasFingerprint, bool hasAuthority)
    {
        var tls = new TlsOptions
        {
            ServerFingerprints = hasFingerprint ? ["sha256:00"] : [],
            ServerCaFile = hasAuthority ? "ca.pem" : null,
        };

        Assert.Equal(
            "curl -k --connect-to web.example.com:443:203.0.113.5:443 https://web.example.com/",
            new CurlHint(new ServerEndpoint("203.0.113.5", 12001), tls, isInContainer: false).For(["https://web.example.com"]));
    }

    [Fact]
    public async Task A_server_that_stops_and_is_gone_is_one_line()
    {
        ServerEndpoint first = new("e1.example.com", 12001), second = new("e2.example.com", 12001);
        var formatter = new HumanEventFormatter(first, verbose: false);
        using var output = new StringWriter { NewLine = "\n" };
        foreach (ServerStatus[] servers in (ServerStatus[][])
        [
            [new(first, true, null), new(second, true, null)],
            [new(first, true, null), new(second, false, "The server is stopping.")],
            [new(first, true, null), new(second, false, "Nothing listens there.")],
            [new(first, true, null)],
            [new(first, true, null), new(second, true, null)],
        ])
        {
            await formatter.WriteAsync(new ServersEvent(default, servers), output, default);
        }

        Assert.Equal(
            """
            Connected to 2 of 2 servers: e1.example.com:12001, e2.example.com:12001
            Connected to 1 of 2 servers: e1.example.com:12001, not e2.example.com:12001 (The server is stopping.)
            Connected to 2 of 2 servers: e1.example.com:12001, e2.example.com:12001

            """.ReplaceLineEndings("\n"),
            output.ToString());
    }

    [Fact]
    public async Task An_address_resolves_and_a_name_that_cannot_exist_does_not()
    {
        // With more time than a person would be kept waiting: a busy machine may need it.
        var patience = TimeSpan.FromSeconds(60);
        Assert.True(await NameResolution.ResolvesWithinAsync("127.0.0.1", patience, TestContext.Current.CancellationToken));
        Assert.False(await NameResolution.ResolvesWithinAsync(new string('a', 300), patience, TestContext.Current.CancellationToken));
    }
}
