using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.ProxyHeaders;

namespace Tunnel2.FunctionalTests.Tcp;

[Trait("Engine", "each")]
public sealed class BalancerTests
{
    private const string Line = "PROXY TCP4 203.0.113.7 198.51.100.1 4711 443\r\n";
    private static readonly string[] _settings = ["TrustedProxies=127.0.0.1", "Public:ProxyProtocol=true"];

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public Task The_service_gets_the_visitors_address_first_in_the_header_it_wants(int version) => TunnelFixture.RunAsync(
        async service =>
        {
            var (header, rest) = await ReadHeaderAsync(service);
            Assert.Equal(version == 2, header[0] == '\r');
            Assert.Equal(ProxyHeaderStatus.Done, ProxyHeader.Read(header, out _, out var source, out var destination));
            Assert.Equal("hello", rest);
            await service.WriteAsync($"{source} {destination}\r\n");
            await service.CloseAsync();
        },
        async tunnel =>
        {
            await using var visitor = await TcpTunnel.VisitAsync(tunnel);
            await visitor.WriteAsync("hello\r\n");
            Assert.Equal($"{visitor.Socket.LocalEndPoint} {visitor.Socket.RemoteEndPoint}", await visitor.ReadLineAsync());
        },
        TcpTunnel.Setup() with { Agent = options => TcpTunnel.UseTcp(options) with { ProxyProtocol = version } });

    [Fact]
    public Task A_trusted_balancers_header_reaches_the_service_of_a_tcp_tunnel() => TunnelFixture.RunAsync(
        async service =>
        {
            Assert.Equal(Line.TrimEnd(), await service.ReadLineAsync());
            await service.WriteAsync(await service.ReadExactlyAsync(5));
            await service.CloseAsync();
        },
        async tunnel =>
        {
            await using var balancer = await TcpTunnel.VisitAsync(tunnel);
            await balancer.WriteInPiecesAsync(Line + "hello", 7);
            Assert.Equal("hello"u8.ToArray(), await balancer.ReadExactlyAsync(5));
        },
        TcpTunnel.Setup(_settings) with { Agent = static options => TcpTunnel.UseTcp(options) with { ProxyProtocol = 1 } });

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public Task A_trusted_balancers_header_is_the_visitor_of_its_requests(int version) => TunnelFixture.RunAsync(
        async service =>
        {
            for (var i = 0; i < 2; i++)
            {
                var head = await service.ReadHeadAsync();
                Assert.Equal(("203.0.113.7", "443"), (head["X-Forwarded-For"], head["X-Forwarded-Port"]));
                await service.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }

            await service.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var balancer = await tunnel.ConnectAsync();
            await balancer.WriteAsync(Header(version));
            for (var i = 0; i < 2; i++)
            {
                var (head, _) = await balancer.ExchangeAsync("/", TunnelFixture.Host, fields: "X-Forwarded-For: 192.0.2.1\r\n");
                Assert.Equal(200, head.StatusCode);
            }
        },
        new TunnelSetup { Settings = _settings });

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [SuppressMessage("Security", "CA5359", Justification = "The certificate is made at the test's start; no program can know it.")]
    public async Task A_trusted_balancers_header_before_tls_is_the_visitor_of_its_requests(int version)
    {
        using var certificate = TestCertificate.Create();
        await TunnelFixture.RunAsync(
            static async service =>
            {
                var head = await service.ReadHeadAsync();
                Assert.Equal(
                    ("203.0.113.7", "https", "443"), (head["X-Forwarded-For"], head["X-Forwarded-Proto"], head["X-Forwarded-Port"]));
                await service.WriteAsync("HTTP/1.1 204 No Content\r\n\r\n");
                await service.WaitForEndAsync();
            },
            async tunnel =>
            {
                using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
                await socket.ConnectAsync(tunnel.Entry.Https);
                await socket.SendAsync(Header(version));
                await using var tls = new SslStream(new NetworkStream(socket), leaveInnerStreamOpen: false, static (_, _, _, _) => true);
                await tls.AuthenticateAsClientAsync(TunnelFixture.Host);
                await using var balancer = new RawConnection(socket, tls);
                await balancer.WriteAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
                Assert.Equal(204, (await balancer.ReadHeadAsync()).StatusCode);
            },
            new TunnelSetup
            {
                Settings = [.. _settings, "Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}"],
            });
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n")]
    [InlineData("PROXY TCP4 203.0.113.7 198.51.100.1 4711\r\n")]
    [InlineData("PROXY TCP4 203.0.113.7 ::1 4711 443\r\n")]
    [InlineData("PROXY TCP5 203.0.113.7 198.51.100.1 4711 443\r\n")]
    public Task A_trusted_balancer_that_sends_no_header_is_refused(string bytes) => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var balancer = await tunnel.ConnectAsync();
            await balancer.WriteAsync(bytes);
            Assert.Empty(await balancer.ReadToEndAsync());
            await tunnel.Entry.Log.WaitForAsync(2264);
        },
        new TunnelSetup { Settings = _settings });

    [Fact]
    public async Task A_trusted_balancer_that_is_too_slow_is_refused()
    {
        var time = new ManualTimeProvider();
        await TunnelFixture.RunAsync(
            async tunnel =>
            {
                await using var balancer = await tunnel.ConnectAsync();
                await balancer.WriteAsync("PROXY TCP4 203.");
                var reading = balancer.ReadToEndAsync();
                await TcpTunnel.AdvanceUntilAsync(time, () => reading.IsCompleted, "the balancer is refused");
                Assert.Empty(await reading);
            },
            new TunnelSetup { Settings = _settings, EntryTime = time });
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public Task A_header_of_any_other_address_is_a_bad_request(int version) => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(Header(version));
            await visitor.WriteAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
            Assert.Equal(400, (await visitor.ReadHeadAsync()).StatusCode);
        },
        new TunnelSetup { Settings = ["TrustedProxies=10.0.0.1", "Public:ProxyProtocol=true"] });

    private static byte[] Header(int version)
    {
        var buffer = new byte[ProxyHeader.MaxWritten];
        return buffer[..ProxyHeader.Write(
            (ProxyHeaderVersion)version, IPEndPoint.Parse("203.0.113.7:4711"), IPEndPoint.Parse("198.51.100.1:443"), buffer)];
    }

    /// <summary>Reads a header of either version, and the line after it.</summary>
    private static async Task<(byte[] Header, string Line)> ReadHeaderAsync(RawConnection service)
    {
        var start = await service.ReadExactlyAsync(1);
        if (start[0] == 'P')
        {
            var line = await service.ReadLineAsync();
            return (System.Text.Encoding.ASCII.GetBytes($"P{line}\r\n"), await service.ReadLineAsync());
        }

        byte[] fixedPart = [.. start, .. await service.ReadExactlyAsync(15)];
        var addresses = await service.ReadExactlyAsync(BinaryPrimitives.ReadUInt16BigEndian(fixedPart.AsSpan(14)));
        return ([.. fixedPart, .. addresses], await service.ReadLineAsync());
    }
}
