using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Backends;

/// <summary>
/// Backends that are there and speak something else than they are spoken to in: visitors and the user learn what, and what helps.
/// </summary>
public sealed class MisunderstoodBackendTests
{
    [Fact]
    public async Task One_that_speaks_tls_and_closes_what_does_not()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions { UseTls = true });
        await AssertToldAsync(
            backend.Port,
            "backend-speaks-tls",
            $"http://127.0.0.1:{backend.Port} speaks TLS, and the agent speaks plain HTTP to it: start the agent with "
                + $"https://127.0.0.1:{backend.Port}. Until then visitors get 502.");
    }

    [Fact]
    public async Task One_that_speaks_http2_alone_and_closes_what_does_not()
    {
        await using var backend = RawTcpServer.Start(ServeHttp2Async);
        await AssertToldAsync(
            backend.Port,
            "backend-speaks-http2",
            $"http://127.0.0.1:{backend.Port} speaks only HTTP/2, as gRPC servers do: requests go to it in HTTP/2 from now on, unless "
                + $"--backend-protocol is h1.",
            protocol: BackendProtocol.Http1);
    }

    [Fact]
    public async Task One_that_speaks_http2_alone_gets_http2_from_the_moment_that_this_is_found_out()
    {
        await using var backend = RawTcpServer.Start(ServeHttp2Async);
        await TunnelFixture.RunAsync(
            backend.Port,
            static async tunnel =>
            {
                // A request without a body is sent again at once.
                Assert.Equal(204, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                Assert.Equal(204, (await tunnel.ExchangeAsync("/", "POST", "Content-Length: 0\r\n")).Head.StatusCode);
            },
            new TunnelSetup { Agent = static options => options with { WatchesBackend = true } });
    }

    [Fact]
    public async Task One_that_says_in_http_that_it_speaks_http2_alone_is_passed_on()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions { UseHttp2PriorKnowledge = true });
        await TunnelFixture.RunAsync(backend.Port, static async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal(400, head.StatusCode);
            Assert.Null(head["Tunnel2-Error"]);
        });
    }

    [Fact]
    public async Task One_that_is_no_http_server_at_all()
    {
        await using var backend = RawTcpServer.Start(static async connection =>
        {
            await connection.WriteAsync("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
            await connection.WaitForEndAsync();
        });
        await AssertToldAsync(
            backend.Port,
            "backend-protocol",
            $"http://127.0.0.1:{backend.Port} does not speak HTTP, it begins with 'SSH-2.0-OpenSSH_9.2p1 De': check the port. Until then "
                + $"visitors get 502.");
    }

    [Fact]
    public async Task One_that_answers_a_tls_handshake_in_plain_http()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await AssertToldAsync(
            backend.Port,
            "backend-not-tls",
            $"https://127.0.0.1:{backend.Port} does not speak TLS: start the agent with http://127.0.0.1:{backend.Port}. Until then "
                + $"visitors get 502.",
            isHttps: true);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task One_that_takes_no_connection_without_a_certificate_of_its_client(bool speaksHttp2)
    {
        using var certificate = SelfMadeCertificate.Create();
        await using var backend = RawTcpServer.Start(async connection =>
        {
            await using var tls = new SslStream(new NetworkStream(connection.Socket));
            var options = new SslServerAuthenticationOptions
            {
                ServerCertificate = certificate,
                ClientCertificateRequired = true,
                RemoteCertificateValidationCallback = static (_, shown, _, _) => shown is not null,
                ApplicationProtocols = speaksHttp2 ? [SslApplicationProtocol.Http2] : [SslApplicationProtocol.Http11],
            };
            try
            {
                await tls.AuthenticateAsServerAsync(options);
            }
            catch (Exception exception) when (exception is AuthenticationException or IOException)
            {
                await connection.ShutdownSendAsync();
                await connection.WaitForEndAsync();
            }
        });
        await AssertToldAsync(
            backend.Port,
            "backend-closed",
            $"https://127.0.0.1:{backend.Port} asks its clients for a certificate, and the agent has none: let the service take "
                + $"connections of this machine without one, or use 'tunnel2 tls', so that visitors show it theirs. Until then visitors "
                + $"get 502.",
            isHttps: true);
    }

    [Fact]
    public async Task One_that_takes_requests_and_closes_without_an_answer_is_not_slandered()
    {
        await using var backend = RawTcpServer.Start(static async connection =>
        {
            // A harmless request is answered; the request of the test is not.
            if (await connection.ReadHeadAsync() is { Target: "*" })
            {
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        });
        await TunnelFixture.RunAsync(
            backend.Port,
            static async tunnel =>
            {
                for (var i = 0; i < 3; i++)
                {
                    var (head, _) = await tunnel.ExchangeAsync("/");
                    Assert.Equal("backend-closed", head["Tunnel2-Error"]);
                }

                Assert.Equal(0, tunnel.Agent.Events.BackendUnreachableCount.Value);
            },
            new TunnelSetup { Agent = static options => options with { WatchesBackend = true } });

        // Three requests, and no more looks than one: the agent's at the start, and the probe's.
        Assert.InRange(backend.ConnectionsAccepted.Value, 3 + 1, 3 + 1 + 3);
    }

    private static Task AssertToldAsync(
        int port,
        string code,
        string words,
        string request = "GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n",
        bool isHttps = false,
        BackendProtocol protocol = BackendProtocol.Auto) => TunnelFixture.RunAsync(
        port,
        async tunnel =>
        {
            for (var i = 0; i < 2; i++)
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync(request);
                var head = await visitor.ReadHeadAsync();
                Assert.Equal((502, code), (head.StatusCode, head["Tunnel2-Error"]));
            }

            await tunnel.Agent.Events.BackendUnreachableCount.WaitForAsync(1);
            Assert.Equal(words, tunnel.Agent.Events.BackendMessage);
            Assert.Equal(1, tunnel.Agent.Events.BackendUnreachableCount.Value);
        },
        new TunnelSetup
        {
            Agent = options => options with
            {
                BackendProtocol = protocol,
                WatchesBackend = true,
                Upstream = options.Upstream with { IsHttps = isHttps },
            },
        });

    /// <summary>As gRPC servers do: a client that does not begin with the preface is disconnected without a word.</summary>
    private static async Task ServeHttp2Async(RawConnection connection)
    {
        const string Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        var first = await connection.ReadExactlyAsync(3);
        if (first.AsSpan().SequenceEqual("PRI"u8))
        {
            await connection.ReadExactlyAsync(Preface.Length - 3);
            await connection.WriteAsync(new byte[] { 0, 0, 0, 4, 0, 0, 0, 0, 0 });
            while (true)
            {
                // Each request is answered with 204, by its index in the static table.
                var header = await connection.ReadExactlyAsync(9);
                var length = (header[0] << 16) | (header[1] << 8) | header[2];
                if (length > 0)
                {
                    await connection.ReadExactlyAsync(length);
                }

                if (header[3] == 1)
                {
                    await connection.WriteAsync(new byte[] { 0, 0, 1, 1, 5, header[5], header[6], header[7], header[8], 0x89 });
                }
            }
        }
    }
}
