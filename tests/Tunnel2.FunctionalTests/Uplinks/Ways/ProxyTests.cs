using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>Agents whose network lets nothing out but a proxy.</summary>
[Trait("Engine", "each")]
public sealed class ProxyTests
{
    [Theory]
    [InlineData(ProxyKind.Http, UplinkWay.Direct, false)]
    [InlineData(ProxyKind.Http, UplinkWay.Direct, true)]
    [InlineData(ProxyKind.Http, UplinkWay.WebSocket, true)]
    [InlineData(ProxyKind.Socks5, UplinkWay.Direct, false)]
    [InlineData(ProxyKind.Socks5, UplinkWay.Direct, true)]
    [InlineData(ProxyKind.Socks5, UplinkWay.WebSocket, true)]
    public async Task A_tunnel_works_through_it_and_the_proxy_resolves_the_name(ProxyKind kind, UplinkWay way, bool hasUser)
    {
        // The Host is a name of another machine, where agents need a token at a public port.
        await using var tunnel = await WaysTunnel.StartAsync("AllowAnonymousAgents=true");
        var (user, password) = hasUser ? ("jo", "s3cret:@") : ((string?)null, (string?)null);
        await using var proxy = kind == ProxyKind.Http ? TestProxy.StartHttp(user, password) : TestProxy.StartSocks(user, password);
        var port = way == UplinkWay.Direct ? tunnel.Entry.Uplink.Port : tunnel.Entry.Http.Port;
        await using (var agent = await AgentFixture.StartReadyAsync(tunnel.WebSocket with
        {
            Server = new ServerEndpoint("server.invalid", tunnel.Entry.Uplink.Port),
            Uplink = way,
            Uplinks = UplinkPolicy.Fixed(2),
            Proxy = new ProxyAddress(kind, "127.0.0.1", proxy.Port) { User = user, Password = password },
        }))
        {
            await tunnel.Entry.WaitForUplinksAsync(2);
            await tunnel.ExchangeAsync();
            Assert.All(proxy.Targets, target => Assert.Equal($"server.invalid:{port}", target));
            Assert.Equal(2, proxy.Targets.Count);
            Assert.DoesNotContain("s3cret", agent.Events.Routes.Single().Message, StringComparison.Ordinal);
            Assert.Contains($"{proxy.Port}", agent.Events.Routes.Single().Message, StringComparison.Ordinal);
            Assert.Equal(0, await agent.StopAsync());
        }
    }

    [Theory]
    [InlineData(ProxyKind.Http)]
    [InlineData(ProxyKind.Socks5)]
    public async Task Wrong_credentials_end_the_attempt_with_a_reason_and_no_secret(ProxyKind kind)
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var proxy = kind == ProxyKind.Http ? TestProxy.StartHttp("jo", "right") : TestProxy.StartSocks("jo", "right");
        foreach (var password in new[] { null, "s3cret" })
        {
            await using var agent = AgentFixture.Start(tunnel.Direct with
            {
                PublicPort = tunnel.Entry.Http.Port,
                ExitOnFailure = true,
                Proxy = new ProxyAddress(kind, "127.0.0.1", proxy.Port) { User = password is null ? null : "jo", Password = password },
            });
            Assert.Equal(AgentExitCode.ServerUnreachable, await agent.Completion);
            var failure = agent.Events.Ends.Single().Failure!;
            Assert.Equal(ConnectFailureReason.ProxyAuthentication, failure.Reason);
            Assert.Contains($"127.0.0.1:{proxy.Port}", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("s3cret", failure.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_proxy_that_lets_only_the_public_port_out_is_no_obstacle()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var proxy = TestProxy.StartHttp(refuses: port => port == tunnel.Entry.Uplink.Port);
        await using var agent = await AgentFixture.StartReadyAsync(tunnel.Direct with
        {
            PublicPort = tunnel.Entry.Http.Port,
            Proxy = new ProxyAddress(ProxyKind.Http, "127.0.0.1", proxy.Port),
        });
        await tunnel.ExchangeAsync();
        var route = Assert.Single(agent.Events.Routes);
        Assert.Equal(UplinkWay.WebSocket, route.Way);
        Assert.Contains("403 Forbidden", route.Reason, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_proxy_that_is_not_there_or_says_nothing_is_named()
    {
        using var nobody = new RefusedPort();
        var asked = new AsyncCounter("requests to the silent proxy");
        await using var silent = RawTcpServer.Start(async connection =>
        {
            await connection.ReadExactlyAsync(1);
            asked.Increment();
            await connection.WaitForEndAsync();
        });
        var silence = 0;
        foreach (var (kind, scheme, port, reason) in new[]
        {
            (ProxyKind.Http, "http", nobody.Port, ConnectFailureReason.ProxyUnreachable),
            (ProxyKind.Socks5, "socks5", nobody.Port, ConnectFailureReason.ProxyUnreachable),
            (ProxyKind.Http, "http", silent.Port, ConnectFailureReason.ProxyFailed),
            (ProxyKind.Socks5, "socks5", silent.Port, ConnectFailureReason.ProxyFailed),
        })
        {
            var time = new ManualTimeProvider();
            await using var agent = AgentFixture.Start(
                AgentFixture.Options(1, 1) with
                {
                    ExitOnFailure = true,
                    Proxy = new ProxyAddress(kind, "127.0.0.1", port) { User = "jo", Password = "s3cret" },
                },
                time: time);
            if (port == silent.Port)
            {
                await asked.WaitForAsync(++silence);
                time.Advance(TimeSpan.FromSeconds(10));
            }

            Assert.Equal(AgentExitCode.ServerUnreachable, await agent.Completion);
            var failure = agent.Events.Ends.Single().Failure!;
            Assert.Equal(reason, failure.Reason);
            Assert.Contains($"the proxy {scheme}://127.0.0.1:{port}", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("s3cret", failure.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_token_does_not_go_through_a_proxy_unencrypted()
    {
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var proxy = TestProxy.StartHttp();
        await using var agent = AgentFixture.Start(tunnel.Direct with
        {
            Token = "s3cret",
            Proxy = new ProxyAddress(ProxyKind.Http, "127.0.0.1", proxy.Port),
        });
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        Assert.Equal("token-in-plaintext", agent.Events.Ends.Single().Rejection!.Code);
    }

    [Theory]
    [InlineData(UplinkWay.Direct, false, false)]
    [InlineData(UplinkWay.Direct, true, true)]
    [InlineData(UplinkWay.WebSocket, false, true)]
    public async Task A_tunnel_works_through_a_proxy_that_speaks_tls(UplinkWay way, bool isTls, bool hasUser)
    {
        using var folder = new TemporaryFolder();
        using var authority = new TestAuthority("proxies");
        await File.WriteAllTextAsync(folder["proxy-ca.pem"], authority.Pem);
        using var certificate = Load(authority.Issue("127.0.0.1"));
        using var ofServer = new TestAuthority("servers");
        await File.WriteAllTextAsync(folder["server.pem"], ofServer.Issue("server.invalid"));
        await File.WriteAllTextAsync(folder["server-ca.pem"], ofServer.Pem);
        string[] settings = ["AllowAnonymousAgents=true"];
        await using var tunnel = await WaysTunnel.StartAsync(
            isTls ? [.. settings, $"Uplink:Certificate={folder["server.pem"]}"] : settings);
        var (user, password) = hasUser ? ("jo", "s3cret:@") : ((string?)null, (string?)null);
        await using var proxy = TestProxy.StartHttps(certificate, user, password);
        var port = way == UplinkWay.Direct ? tunnel.Entry.Uplink.Port : tunnel.Entry.Http.Port;
        await using var agent = await AgentFixture.StartReadyAsync(tunnel.WebSocket with
        {
            Server = new ServerEndpoint("server.invalid", tunnel.Entry.Uplink.Port),
            Tls = isTls ? new TlsOptions { ServerCaFile = folder["server-ca.pem"] } : null,
            Uplink = way,
            Uplinks = UplinkPolicy.Fixed(2),
            Proxy = new ProxyAddress(ProxyKind.Https, "127.0.0.1", proxy.Port)
            {
                User = user,
                Password = password,
                AuthoritiesFile = folder["proxy-ca.pem"],
            },
        });
        await tunnel.Entry.WaitForUplinksAsync(2);
        await tunnel.ExchangeAsync();
        Assert.All(proxy.Targets, target => Assert.Equal($"server.invalid:{port}", target));
        Assert.Contains($"https://127.0.0.1:{proxy.Port}", agent.Events.Routes.Single().Message, StringComparison.Ordinal);
        Assert.Equal(0, await agent.StopAsync());
    }

    /// <summary>None of them gets as far as the user and password.</summary>
    [Theory]
    [InlineData("untrusted", "cannot be trusted: its certificate is not issued by an authority that is trusted here")]
    [InlineData("name", "cannot be trusted: its certificate is for 'proxy.example', not for '127.0.0.1'")]
    [InlineData("expired", "cannot be trusted: its certificate has expired on")]
    [InlineData("file", "cannot be trusted: the file of --proxy-ca cannot be used")]
    [InlineData("plain", "does not speak TLS at this port")]
    public async Task A_proxy_whose_tls_fails_learns_no_secret_and_is_named(string fault, string expected)
    {
        using var folder = new TemporaryFolder();
        using var authority = new TestAuthority();
        await File.WriteAllTextAsync(folder["ca.pem"], authority.Pem);
        using var certificate = Load(fault switch
        {
            "name" => authority.Issue("proxy.example"),
            "expired" => authority.Issue("127.0.0.1", from: -3, to: -1),
            _ => authority.Issue("127.0.0.1"),
        });
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var proxy = TestProxy.StartHttps(certificate, "jo", "s3cret");
        await using var plain = RawTcpServer.Start(static async connection =>
        {
            await connection.WriteAsync("HTTP/1.1 400 No\r\n\r\n");
            await connection.WaitForEndAsync();
        });
        var port = fault == "plain" ? plain.Port : proxy.Port;
        await using var agent = AgentFixture.Start(tunnel.Direct with
        {
            ExitOnFailure = true,
            Proxy = new ProxyAddress(ProxyKind.Https, "127.0.0.1", port)
            {
                User = "jo",
                Password = "s3cret",
                AuthoritiesFile = fault == "untrusted" ? null : folder[fault == "file" ? "none.pem" : "ca.pem"],
            },
        });
        Assert.Equal(AgentExitCode.ServerUnreachable, await agent.Completion);
        var failure = agent.Events.Ends.Single().Failure!;
        Assert.Equal(ConnectFailureReason.ProxyFailed, failure.Reason);
        Assert.Contains($"the proxy https://127.0.0.1:{port} {expected}", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", failure.Message, StringComparison.Ordinal);
        Assert.Empty(proxy.Targets);
    }

    [Fact]
    public async Task Wrong_credentials_at_a_proxy_that_speaks_tls_and_plain_http_to_it()
    {
        using var folder = new TemporaryFolder();
        using var authority = new TestAuthority();
        await File.WriteAllTextAsync(folder["ca.pem"], authority.Pem);
        using var certificate = Load(authority.Issue("127.0.0.1"));
        await using var tunnel = await WaysTunnel.StartAsync();
        await using var proxy = TestProxy.StartHttps(certificate, "jo", "right");
        foreach (var (kind, reason, words) in new[]
        {
            (ProxyKind.Https, ConnectFailureReason.ProxyAuthentication, "does not accept the user and password (407)"),
            (ProxyKind.Http, ConnectFailureReason.ProxyFailed, ""),
        })
        {
            await using var agent = AgentFixture.Start(tunnel.Direct with
            {
                ExitOnFailure = true,
                Proxy = new ProxyAddress(kind, "127.0.0.1", proxy.Port)
                {
                    User = "jo",
                    Password = "s3cret",
                    AuthoritiesFile = folder["ca.pem"],
                },
            });
            Assert.Equal(AgentExitCode.ServerUnreachable, await agent.Completion);
            var failure = agent.Events.Ends.Single().Failure!;
            Assert.Equal(reason, failure.Reason);
            Assert.Contains(words, failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("s3cret", failure.Message, StringComparison.Ordinal);
        }
    }

    private static X509Certificate2 Load(string pem)
    {
        using var certificate = X509Certificate2.CreateFromPem(pem, pem);

        // A key that is in memory alone cannot be used by every system's TLS.
        return X509CertificateLoader.LoadPkcs12(certificate.Export(X509ContentType.Pkcs12), null);
    }
}
