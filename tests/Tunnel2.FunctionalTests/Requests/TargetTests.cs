using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Requests;

public sealed class TargetTests
{
    public static TheoryData<string> Targets =>
    [
        "/", "//", "//a/../b?x=%2f;y", "/%2e%2e/%2E", "/a//b///", "/?", "/?a=b?c=d", "/%zz", "/a;b=c,d", "/a'(b)!$&*+,=~", "/a|b\"c<d>^`{}",
        "/a/./b", "/./../", "/%", "/a?q=%E2%82%AC", "/sess/../session/web", "/" + new string('x', 8000),
    ];

    [Theory]
    [MemberData(nameof(Targets))]
    public Task A_target_reaches_the_backend_byte_for_byte(string target) => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (head, body) = await tunnel.ExchangeAsync(target);
        Assert.Equal(200, head.StatusCode);
        Assert.Equal($"GET {target} HTTP/1.1", body.Request().StartLine);
    });

    [Theory]
    [InlineData("http://web.localhost/a//b?c", "/a//b?c")]
    [InlineData("http://web.localhost", "/")]
    [InlineData("http://web.localhost?q=1", "/?q=1")]
    [InlineData("http://WEB.localhost/%2f", "/%2f")]
    public Task An_absolute_target_becomes_its_path_and_query(string target, string expected) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (head, body) = await tunnel.ExchangeAsync(target);
            Assert.Equal(200, head.StatusCode);
            Assert.Equal($"GET {expected} HTTP/1.1", body.Request().StartLine);
        });

    /// <summary>RFC 9112 section 3.2.4: such a URI means the server as a whole.</summary>
    [Theory]
    [InlineData("http://web.localhost", "*")]
    [InlineData("http://web.localhost/", "/")]
    [InlineData("http://web.localhost?q", "/?q")]
    [InlineData("http://web.localhost?", "/?")]
    [InlineData("*", "*")]
    public Task OPTIONS_of_an_absolute_target_without_path_and_query_asks_the_whole_server(string target, string expected) =>
        TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                var (head, body) = await tunnel.ExchangeAsync(target, "OPTIONS");
                Assert.Equal(200, head.StatusCode);
                Assert.Equal($"OPTIONS {expected} HTTP/1.1", body.Request().StartLine);
            });

    [Theory]
    [InlineData("/a?b", "/base/v1/a?b")]
    [InlineData("/", "/base/v1/")]
    [InlineData("//x", "/base/v1//x")]
    public Task A_path_of_the_backend_comes_before_the_target(string target, string expected) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (_, body) = await tunnel.ExchangeAsync(target);
            Assert.Equal($"GET {expected} HTTP/1.1", body.Request().StartLine);
            var (_, options) = await tunnel.ExchangeAsync("*", "OPTIONS");
            Assert.Equal("OPTIONS * HTTP/1.1", options.Request().StartLine);
        },
        new TunnelSetup { Agent = static options => options with { Upstream = options.Upstream with { PathPrefix = "/base/v1" } } });

    [Fact]
    public Task A_host_in_any_case_and_with_any_port_finds_the_tunnel() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        string[] hosts =
        [
            "web.localhost", "WEB.LocalHost", "web.localhost.", "web-e1.localhost",
            "web.localhost:1", "web.localhost:65535", "web.localhost:",
        ];
        foreach (var host in hosts)
        {
            var (head, body) = await tunnel.ExchangeAsync("/", host: host);
            Assert.Equal(200, head.StatusCode);
            Assert.Equal(host, body.Request()["Host"]);
        }
    });

    [Fact]
    public Task The_host_of_the_visitor_is_kept_unless_the_agent_says_otherwise() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (_, body) = await tunnel.ExchangeAsync("/", host: "web.localhost:12000");
            Assert.Equal(["web.localhost:12000"], body.Request().All("Host"));
            Assert.Equal(["web.localhost:12000"], body.Request().All("X-Forwarded-Host"));
        });

    [Fact]
    public Task The_host_can_be_rewritten_to_the_backends_own() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (_, body) = await tunnel.ExchangeAsync("/");
            Assert.Equal([$"127.0.0.1:{tunnel.RawBackend.Port}"], body.Request().All("Host"));
            Assert.Equal(["web.localhost"], body.Request().All("X-Forwarded-Host"));
        },
        new TunnelSetup { Agent = static options => options with { HostHeader = HostHeaderPolicy.Rewrite } });

    [Fact]
    public Task The_host_can_be_a_fixed_one() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (_, body) = await tunnel.ExchangeAsync("/");
            Assert.Equal(["app.local:8080"], body.Request().All("Host"));
        },
        new TunnelSetup
        {
            Agent = static options =>
            {
                Assert.Null(HostHeaderPolicy.TryParse("app.local:8080", out var policy));
                return options with { HostHeader = policy };
            },
        });

    [Fact]
    public Task In_test_mode_a_path_names_the_session_and_the_rest_is_forwarded() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            foreach (var (target, expected) in new[]
            {
                ("/session/web/a//b?c=%2f", "/a//b?c=%2f"), ("/session/web", "/"), ("/session/web?x", "/?x"), ("/session/WEB/", "/"),
                ("/session/web/session/web/x", "/session/web/x"), ("http://127.0.0.1/session/web", "/"),
            })
            {
                foreach (var method in new[] { "GET", "OPTIONS" })
                {
                    var (head, body) = await tunnel.ExchangeAsync(target, method, host: "127.0.0.1");
                    Assert.Equal(200, head.StatusCode);
                    Assert.Equal($"{method} {expected} HTTP/1.1", body.Request().StartLine);
                }
            }

            var (byHost, whole) = await tunnel.ExchangeAsync("/session/web/x");
            Assert.Equal(200, byHost.StatusCode);
            Assert.Equal("/session/web/x", whole.Request().Target);
        },
        new TunnelSetup { Settings = ["TestMode=true"] });

    [Fact]
    public Task Without_test_mode_a_path_names_no_session() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (head, _) = await tunnel.ExchangeAsync("/session/web/a", host: "127.0.0.1");
        Assert.Equal(404, head.StatusCode);
        Assert.Equal("unknown-host", head["Tunnel2-Error"]);
        Assert.Equal(0, tunnel.RawBackend.ConnectionsAccepted.Value);
    });
}
