using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Tls;

namespace Tunnel2.FunctionalTests.Tcp;

[Trait("Engine", "each")]
public sealed class TlsTunnelTests
{
    private static readonly string[] _alone = ["Tls:Listen=127.0.0.1:0", "Tcp:Ports=off"];

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_visitor_shakes_hands_with_the_service_itself(bool besideHttps)
    {
        using var own = TestCertificate.Create();
        using var certificate = SelfMadeCertificate.Create();
        string[] settings = besideHttps ? ["Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={own.File}"] : _alone;
        await TunnelFixture.RunAsync(
            service => ServeAsync(service, certificate),
            async tunnel =>
            {
                var endPoint = EndPointOf(tunnel.Agent);
                Assert.Equal(besideHttps, endPoint.Port == (besideHttps ? tunnel.Entry.Https.Port : 0));
                using var visitor = await HandshakeAsync(endPoint, "web.localhost");
                Assert.Equal(certificate.GetCertHashString(), visitor.RemoteCertificate!.GetCertHashString());
                await visitor.WriteAsync("hello"u8.ToArray());
                var answer = new byte[5];
                await visitor.ReadExactlyAsync(answer);
                Assert.Equal("hello"u8.ToArray(), answer);
                if (besideHttps)
                {
                    // Other names are opened here, as ever.
                    using var other = await HandshakeAsync(endPoint, "other.localhost");
                    Assert.NotEqual(certificate.GetCertHashString(), other.RemoteCertificate!.GetCertHashString());
                }
            },
            new TunnelSetup { Settings = settings, Agent = UseTls });
    }

    [Fact]
    public async Task A_service_that_asks_for_a_certificate_gets_the_visitors_own()
    {
        using var certificate = SelfMadeCertificate.Create();
        using var own = SelfMadeCertificate.Create();
        string? seen = null;
        await TunnelFixture.RunAsync(
            async service =>
            {
                await using var tls = new SslStream(new System.Net.Sockets.NetworkStream(service.Socket));
                await tls.AuthenticateAsServerAsync(AskingFor(certificate));
                seen = tls.RemoteCertificate?.GetCertHashString();
                await tls.WriteAsync("ok"u8.ToArray());
                await tls.ShutdownAsync();
                Assert.Equal(0, await tls.ReadAsync(new byte[1]));
            },
            async tunnel =>
            {
                using var visitor = await HandshakeAsync(EndPointOf(tunnel.Agent), "web.localhost", own);
                var answer = new byte[2];
                await visitor.ReadExactlyAsync(answer);
                Assert.Equal(own.GetCertHashString(), seen);
            },
            new TunnelSetup { Settings = _alone, Agent = UseTls });
    }

    [Fact]
    public Task A_trusted_balancers_header_comes_before_the_first_flight() => TunnelFixture.RunAsync(
        static async service =>
        {
            Assert.Equal("PROXY TCP4 203.0.113.7 198.51.100.1 4711 443", await service.ReadLineAsync());
            var expected = Hello("web.localhost");
            Assert.Equal(expected, await service.ReadExactlyAsync(expected.Length));
            await service.WriteAsync("ok");
            await service.CloseAsync();
        },
        async tunnel =>
        {
            await using var balancer = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
            await balancer.WriteAsync("PROXY TCP4 203.0.113.7 198.51.100.1 4711 443\r\n");
            await balancer.WriteAsync(Hello("web.localhost"));
            Assert.Equal("ok"u8.ToArray(), await balancer.ReadToEndAsync());
        },
        new TunnelSetup
        {
            Settings = [.. _alone, "TrustedProxies=127.0.0.1", "Public:ProxyProtocol=true"],
            Agent = static options => UseTls(options) with { ProxyProtocol = 1 },
        });

    [Theory]
    [InlineData("nobody.localhost")]
    [InlineData("example.org")]
    [InlineData("")]
    public Task A_name_without_a_tunnel_gets_the_alert_that_says_so(string name) => TunnelFixture.RunAsync(
        static service => service.WaitForEndAsync(),
        async tunnel =>
        {
            await Assert.ThrowsAnyAsync<AuthenticationException>(() => HandshakeAsync(EndPointOf(tunnel.Agent), name));
            await using var visitor = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
            await visitor.WriteAsync(Hello(name));
            Assert.Equal(Alert(112), await visitor.ReadToEndAsync());
            Assert.Equal(0, tunnel.RawBackend.ConnectionsAccepted.Value);
        },
        new TunnelSetup { Settings = _alone, Agent = UseTls });

    [Fact]
    public Task An_address_that_is_not_allowed_gets_the_alert_that_says_so() => TunnelFixture.RunAsync(
        static service => service.WaitForEndAsync(),
        async tunnel =>
        {
            await using var visitor = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
            await visitor.WriteAsync(Hello("web.localhost"));
            Assert.Equal(Alert(49), await visitor.ReadToEndAsync());
            Assert.Equal(0, tunnel.RawBackend.ConnectionsAccepted.Value);
        },
        new TunnelSetup
        {
            Settings = _alone,
            Agent = static options => UseTls(options) with
            {
                Access = new AccessRules { Denied = [AccessNetwork.Create([127, 0, 0, 0], 8)!] },
            },
        });

    [Fact]
    public Task A_first_flight_in_pieces_of_records_and_of_segments_reaches_the_service_unchanged() => TunnelFixture.RunAsync(
        async service =>
        {
            var expected = Fragmented(Hello("WEB.localhost"), 7);
            Assert.Equal(expected, await service.ReadExactlyAsync(expected.Length));
            await service.WriteAsync("ok");
            await service.CloseAsync();
        },
        async tunnel =>
        {
            await using var visitor = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
            foreach (var piece in Fragmented(Hello("WEB.localhost"), 7).Chunk(3))
            {
                await visitor.WriteAsync(piece);
            }

            Assert.Equal("ok"u8.ToArray(), await visitor.ReadToEndAsync());
        },
        new TunnelSetup { Settings = _alone, Agent = UseTls });

    [Theory]
    [InlineData(64 * 1024, 16_384)]
    [InlineData(30_000, 1)]
    public Task A_first_flight_beyond_64_KiB_gets_an_alert_long_before_its_end(int length, int recordLength) => TunnelFixture.RunAsync(
        static service => service.WaitForEndAsync(),
        async tunnel =>
        {
            // As many as are looked at: after fewer the server may wait for all that the flight still announces.
            var flight = Fragmented(LongHello("web.localhost", length), recordLength);
            Assert.True(flight.Length > ClientHelloReader.MaxLength);
            Assert.Equal(ClientHelloStatus.TooLong, ClientHelloReader.Read(flight.AsSpan(0, 50_000), out _, out _));
            await using var visitor = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
            await visitor.WriteAsync(flight.AsMemory(0, 4096));
            await visitor.WriteAsync(flight.AsMemory(4096, ClientHelloReader.MaxLength - 4096));
            Assert.Equal(Alert(50), await visitor.ReadToEndAsync());
            Assert.Equal(0, tunnel.RawBackend.ConnectionsAccepted.Value);
        },
        new TunnelSetup { Settings = _alone, Agent = UseTls });

    [Fact]
    public async Task A_first_flight_of_a_byte_a_second_is_ended_after_ten_and_holds_no_other_visitor_up()
    {
        var time = new ManualTimeProvider();
        await TunnelFixture.RunAsync(
            static async service =>
            {
                await service.ReadExactlyAsync(5);
                await service.WriteAsync("ok");
                await service.CloseAsync();
            },
            async tunnel =>
            {
                var limits = time.SetFor(TimeSpan.FromSeconds(10));
                var armed = limits.Value;
                await using var slow = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
                await slow.WriteAsync(Hello("web.localhost").AsMemory(0, 1));
                await limits.WaitForAsync(armed + 1);
                for (var second = 1; second < 10; second++)
                {
                    time.Advance(TimeSpan.FromSeconds(1));
                    await slow.WriteAsync(Hello("web.localhost").AsMemory(second, 1));
                    if (second == 3)
                    {
                        await using var visitor = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
                        await visitor.WriteAsync(Hello("web.localhost"));
                        Assert.Equal("ok"u8.ToArray(), await visitor.ReadToEndAsync());
                    }
                }

                Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
                time.Advance(TimeSpan.FromSeconds(1));
                Assert.Empty(await slow.ReadToEndAsync());
            },
            new TunnelSetup { Settings = _alone, Agent = UseTls, EntryTime = time });
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n")]
    [InlineData("\u0016\u0003\u0001\u0000\u0005\u0002aaaa")]
    public Task Bytes_that_are_no_first_flight_get_an_alert(string bytes) => TunnelFixture.RunAsync(
        static service => service.WaitForEndAsync(),
        async tunnel =>
        {
            await using var visitor = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
            await visitor.WriteAsync(bytes);
            Assert.Equal(Alert(50), await visitor.ReadToEndAsync());
        },
        new TunnelSetup { Settings = _alone, Agent = UseTls });

    [Fact]
    public async Task A_first_flight_that_does_not_come_to_its_end_is_ended()
    {
        var time = new ManualTimeProvider();
        await TunnelFixture.RunAsync(
            static service => service.WaitForEndAsync(),
            async tunnel =>
            {
                var limits = time.SetFor(TimeSpan.FromSeconds(10));
                var armed = limits.Value;
                await using var visitor = await RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent));
                await visitor.WriteAsync(Hello("web.localhost").AsMemory(0, 40));
                await limits.WaitForAsync(armed + 1);
                time.Advance(TimeSpan.FromSeconds(11));
                Assert.Empty(await visitor.ReadToEndAsync());
            },
            new TunnelSetup { Settings = _alone, Agent = UseTls, EntryTime = time });
    }

    private static AgentOptions UseTls(AgentOptions options) =>
        options with { Kind = SessionKind.Tls, Upstream = options.Upstream with { IsRaw = true } };

    private static IPEndPoint EndPointOf(AgentFixture agent)
    {
        var url = new Uri(Assert.Single(agent.Events.PublicUrls));
        Assert.Equal(("tls", "web.localhost"), (url.Scheme, url.Host));
        return new IPEndPoint(IPAddress.Loopback, url.Port);
    }

    private static async Task ServeAsync(RawConnection service, X509Certificate2 certificate)
    {
        // The stream ends with the socket, which the server owns.
        await using var tls = new SslStream(new System.Net.Sockets.NetworkStream(service.Socket));
        await tls.AuthenticateAsServerAsync(certificate);
        var bytes = new byte[5];
        await tls.ReadExactlyAsync(bytes);
        await tls.WriteAsync(bytes);
        await tls.ShutdownAsync();
        Assert.Equal(0, await tls.ReadAsync(bytes));
    }

    [SuppressMessage("Security", "CA5359", Justification = "The test compares the certificate itself.")]
    private static async Task<SslStream> HandshakeAsync(IPEndPoint endPoint, string name, X509Certificate2? own = null)
    {
        var client = new System.Net.Sockets.TcpClient();
        await client.ConnectAsync(endPoint);
        var tls = new SslStream(client.GetStream());
        try
        {
            await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
            {
                TargetHost = name,
                RemoteCertificateValidationCallback = static (_, _, _, _) => true,
                LocalCertificateSelectionCallback = own is null ? null : (_, _, _, _, _) => own,
            });
            return tls;
        }
        catch (IOException exception)
        {
            // Whether an alert or the end after it is seen first, there is no handshake.
            await tls.DisposeAsync();
            throw new AuthenticationException("The handshake ended.", exception);
        }
        catch
        {
            await tls.DisposeAsync();
            throw;
        }
    }

    [SuppressMessage("Security", "CA5359", Justification = "The test compares the certificate itself.")]
    private static SslServerAuthenticationOptions AskingFor(X509Certificate2 certificate) => new()
    {
        ServerCertificate = certificate,
        ClientCertificateRequired = true,
        RemoteCertificateValidationCallback = static (_, _, _, _) => true,
    };

    private static byte[] Alert(byte description) => [21, 3, 3, 0, 2, 2, description];

    /// <summary>A ClientHello of TLS 1.2 by hand, with GREASE, and with a server name unless it is empty.</summary>
    internal static byte[] Hello(string name)
    {
        byte[] host = System.Text.Encoding.ASCII.GetBytes(name);
        byte[] serverName = name.Length == 0 ? [] : [0, 0, .. Long([.. Long([0, .. Long(host)])])];
        byte[] grease = [0x1A, 0x1A, 0, 0];
        byte[] body = [3, 3, .. new byte[32], 0, 0, 4, 0x1A, 0x1A, 0xC0, 0x2B, 1, 0, .. Long([.. grease, .. serverName])];
        byte[] message = [1, 0, (byte)(body.Length >> 8), (byte)body.Length, .. body];
        return [22, 3, 1, .. Long(message)];
    }

    /// <summary>The same with so many bytes more.</summary>
    private static byte[] LongHello(string name, int length)
    {
        var record = Hello(name);
        byte[] body = [.. record[9..], .. new byte[length]];
        return [22, 3, 1, 0, 0, 1, (byte)(body.Length >> 16), (byte)(body.Length >> 8), (byte)body.Length, .. body];
    }

    private static byte[] Long(byte[] bytes) => [(byte)(bytes.Length >> 8), (byte)bytes.Length, .. bytes];

    private static byte[] Fragmented(byte[] record, int size) =>
        [.. record[5..].Chunk(size).SelectMany(static piece => (byte[])[22, 3, 1, .. Long(piece)])];
}
