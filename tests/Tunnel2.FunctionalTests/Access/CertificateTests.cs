using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Access;

/// <summary>Tunnels whose visitors show certificates (mutual TLS), in both versions of HTTP.</summary>
[Trait("Engine", "each")]
public sealed class CertificateTests : IDisposable
{
    private const string Token = "certificate-token";

    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new("Visitors");
    private readonly TestAuthority _foreign = new("Visitors");

    public static TheoryData<string> Versions => ["1.1", "2.0"];

    [Theory]
    [MemberData(nameof(Versions))]
    public Task Only_visitors_with_a_certificate_of_the_authority_pass(string version) => RunAsync(
        OwnRule(_authority),
        async tunnel =>
        {
            using (var visitor = Visitor(tunnel, version, _authority.Issue("alice", isServer: false)))
            {
                using var response = await SendAsync(visitor, "web.localhost");
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                Assert.Equal("CN=alice", await response.Content.ReadAsStringAsync());
                using var again = await SendAsync(visitor, "web.localhost");
                Assert.Equal("CN=alice", await again.Content.ReadAsStringAsync());
            }

            await RefusedAsync(tunnel, version, null, 403, "certificate-required");
            await RefusedAsync(tunnel, version, _foreign.Issue("alice", isServer: false), 403, "certificate-invalid");
            await RefusedAsync(tunnel, version, _authority.Issue("alice", isServer: false, from: -3, to: -1), 403, "certificate-invalid");
            await RefusedAsync(tunnel, version, _authority.Issue("alice", isServer: false, from: 1, to: 3), 403, "certificate-invalid");
            await RefusedAsync(tunnel, version, _authority.Issue("alice.example"), 403, "certificate-invalid");

            // Without TLS there is no certificate, also if the visitor claims one.
            var (plain, _) = await tunnel.ExchangeAsync("/", fields: "X-Tunnel2-User: CN=alice\r\nX-Forwarded-Proto: https\r\n");
            Assert.Equal((403, "certificate-required"), (plain.StatusCode, plain["Tunnel2-Error"]));
        });

    [Fact]
    public Task A_connection_for_another_name_is_no_way_in() => RunAsync(
        static options => options,
        async tunnel =>
        {
            // The handshakes are for a name without a rule, so no certificate is asked for.
            await using var closed = await AgentFixture.StartReadyAsync(
                OwnRule(_authority)(AgentFixture.Options(tunnel.Entry.Uplink.Port, 1, "closed")));
            await using var visitor = await RawHttpClient.ConnectTlsAsync(tunnel.Entry.Https, "web.localhost");
            var (served, _) = await visitor.ExchangeAsync("/", "web.localhost");
            var (refused, _) = await visitor.ExchangeAsync("/", "closed.localhost");
            Assert.Equal((200, 421, "misdirected"), (served.StatusCode, refused.StatusCode, refused["Tunnel2-Error"]));

            await using var second = await Http2Visitor.ConnectAsync(tunnel.Entry.Https, isTls: true);
            var open = await second.ExchangeAsync(Http2Visitor.Request(isTls: true));
            var misdirected = await second.ExchangeAsync(Http2Visitor.Request(isTls: true, authority: "closed.localhost"));
            Assert.Equal((200, 421), (open.Status, misdirected.Status));
        });

    [Fact]
    public Task A_certificate_for_one_name_is_asked_for_again_where_another_name_wants_another_one() => RunAsync(
        OwnRule(_authority),
        async tunnel =>
        {
            await using var other = await AgentFixture.StartReadyAsync(
                OwnRule(_foreign)(AgentFixture.Options(tunnel.Entry.Uplink.Port, 1, "other")));
            foreach (var shown in new[] { _authority.Issue("alice", isServer: false), null })
            {
                await using var visitor = await RawHttpClient.ConnectTlsAsync(tunnel.Entry.Https, "web.localhost", ContextOf(shown));
                var (own, _) = await visitor.ExchangeAsync("/", "web.localhost");
                var (misdirected, _) = await visitor.ExchangeAsync("/", "other.localhost");
                Assert.Equal(shown is null ? "certificate-required" : null, own["Tunnel2-Error"]);
                Assert.Equal((421, "misdirected"), (misdirected.StatusCode, misdirected["Tunnel2-Error"]));
            }

            await using var right = await RawHttpClient.ConnectTlsAsync(
                tunnel.Entry.Https, "other.localhost", ContextOf(_authority.Issue("alice", isServer: false)));
            var (refused, _) = await right.ExchangeAsync("/", "other.localhost");
            Assert.Equal((403, "certificate-invalid"), (refused.StatusCode, refused["Tunnel2-Error"]));
        });

    [Fact]
    public Task An_address_in_a_strangers_certificate_is_not_called() => RunAsync(
        OwnRule(_authority),
        async tunnel =>
        {
            await using var stranger = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
            var issuer = new Uri($"http://127.0.0.1:{stranger.Port}/issuer.cer");
            await using var visitor = await RawHttpClient.ConnectTlsAsync(
                tunnel.Entry.Https, "web.localhost", ContextOf(_foreign.Issue("alice", isServer: false, issuer: issuer)));
            var (refused, _) = await visitor.ExchangeAsync("/", "web.localhost");
            Assert.Equal((403, "certificate-invalid"), (refused.StatusCode, refused["Tunnel2-Error"]));
            Assert.Equal(0, stranger.ConnectionsAccepted.Value);
        });

    [Fact]
    public async Task Where_the_server_names_authorities_too_both_have_to_have_issued_it()
    {
        File.WriteAllText(_folder["forced.pem"], _foreign.Pem);
        await RunAsync(
            options => OwnRule(_authority)(options) with { Token = Token },
            async tunnel =>
            {
                await RefusedAsync(tunnel, "1.1", _authority.Issue("alice", isServer: false), 403, "certificate-invalid");
                await RefusedAsync(tunnel, "1.1", _foreign.Issue("alice", isServer: false), 403, "certificate-invalid");
            },
            "Agents:web:TokenHash=" + EntryTokens.HashSetting(Token), "Agents:web:ClientCa=" + _folder["forced.pem"]);
        await RunAsync(
            static options => options with { Token = Token },
            async tunnel =>
            {
                using var visitor = Visitor(tunnel, "2.0", _foreign.Issue("bob", isServer: false));
                using var response = await SendAsync(visitor, "web.localhost");
                Assert.Equal("CN=bob", await response.Content.ReadAsStringAsync());
                await RefusedAsync(tunnel, "2.0", null, 403, "certificate-required");
            },
            "Agents:web:TokenHash=" + EntryTokens.HashSetting(Token), "Agents:web:ClientCa=" + _folder["forced.pem"]);
    }

    [Fact]
    public async Task An_authority_that_is_no_certificate_is_refused()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, 1) with
        {
            Access = new Protocol.Handshake.AccessRules { ClientAuthorities = [new byte[] { 0x30, 0 }] },
        });
        Assert.Equal(3, await agent.Completion);
        Assert.Contains("is no certificate", agent.Events.Ends[0].Message, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _authority.Dispose();
        _foreign.Dispose();
        _folder.Dispose();
    }

    private static async Task RunAsync(
        Func<AgentOptions, AgentOptions> agent, Func<TunnelFixture, Task> test, params string[] settings)
    {
        using var certificate = TestCertificate.Create();
        await TunnelFixture.RunAsync(
            static service => ServeAsync(service),
            test,
            new TunnelSetup
            {
                Settings = ["Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}", .. settings],
                Agent = agent,
            });
    }

    private Func<AgentOptions, AgentOptions> OwnRule(TestAuthority authority)
    {
        var file = _folder[Guid.NewGuid().ToString("N")];
        File.WriteAllText(file, authority.Pem);
        return options =>
        {
            Assert.Null(ClientCaParser.Read(file, ref options));
            return options;
        };
    }

    private static async Task RefusedAsync(TunnelFixture tunnel, string version, string? certificate, int status, string code)
    {
        using var visitor = Visitor(tunnel, version, certificate);
        using var response = await SendAsync(visitor, "web.localhost");
        Assert.Equal((status, code), ((int)response.StatusCode, CodeOf(response)));
    }

    private static string CodeOf(HttpResponseMessage response) => response.Headers.GetValues("Tunnel2-Error").Single();

    [SuppressMessage("Security", "CA5359", Justification = "The certificate is made at the test's start; no program can know it.")]
    private static HttpClient Visitor(TunnelFixture tunnel, string version, string? certificate)
    {
        var own = certificate is null ? null : WithKey(certificate);
        var handler = new SocketsHttpHandler
        {
            UseProxy = false,
            AllowAutoRedirect = false,
            SslOptions = new SslClientAuthenticationOptions
            {
                TargetHost = "web.localhost",
                RemoteCertificateValidationCallback = static (_, _, _, _) => true,
                LocalCertificateSelectionCallback = (_, _, _, _, _) => own!,
            },
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await socket.ConnectAsync(tunnel.Entry.Https, cancellationToken);
                return new NetworkStream(socket, ownsSocket: true);
            },
        };
        return new HttpClient(handler)
        {
            BaseAddress = new Uri($"https://web.localhost:{tunnel.Entry.Https.Port}/"),
            DefaultRequestVersion = Version.Parse(version),
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Timeout = TimeSpan.FromSeconds(60),
        };
    }

    /// <summary>Without a look for the issuer, which is the server's to leave out.</summary>
    private static SslStreamCertificateContext? ContextOf(string? pem) =>
        pem is null ? null : SslStreamCertificateContext.Create(WithKey(pem), null, offline: true);

    private static X509Certificate2 WithKey(string pem)
    {
        using var certificate = X509Certificate2.CreateFromPem(pem, pem);

        // A key that is only in memory is not sent on every system.
        return X509CertificateLoader.LoadPkcs12(certificate.Export(X509ContentType.Pkcs12), null);
    }

    private static async Task<HttpResponseMessage> SendAsync(HttpClient visitor, string host)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/")
        {
            Version = visitor.DefaultRequestVersion,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.Host = host;
        request.Headers.TryAddWithoutValidation("X-Tunnel2-User", "CN=mallory");
        return await visitor.SendAsync(request);
    }

    private static async Task ServeAsync(RawConnection connection)
    {
        while (true)
        {
            RawHttpHead head;
            try
            {
                head = await connection.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            var body = string.Join(" | ", head.All("X-Tunnel2-User"));
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {body.Length}\r\n\r\n{body}");
        }
    }
}
