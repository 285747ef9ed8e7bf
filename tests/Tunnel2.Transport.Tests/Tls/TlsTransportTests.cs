using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tests.Sockets;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Transport.Tests.Tls;

public sealed class TlsTransportTests : UplinkTransportContract
{
    private static readonly X509Certificate2 _certificate = SelfMadeCertificate.Create();

    [Theory]
    [InlineData(1)]
    [InlineData(1000)]
    [InlineData(16 * 1024)]
    [InlineData((16 * 1024) + 1)]
    [InlineData(256 * 1024)]
    [InlineData(1_000_003)]
    public async Task Batches_of_any_size_go_both_ways_at_once(int batch)
    {
        var (left, right) = await ConnectAsync();
        var length = Math.Max(20 * batch, 3000) / batch * batch;
        await Task.WhenAll(
            SendAsync(left, batch, length),
            SendAsync(right, batch, length),
            ReceiveAsync(left, length),
            ReceiveAsync(right, length)).WaitAsync(Limit);
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Streams_run_over_tls(string name)
    {
        using var engine = TestEngines.Create(name);
        var (left, right) = await ConnectAsync(engine.CreateUplinkTransport);
        await RunStreamsAsync(left, right, engine);
    }

    [Fact]
    public async Task A_peer_that_speaks_something_else_is_distinguished_and_its_first_bytes_are_kept()
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var transport = new SocketTransport(left);
        await right.SendAsync("GET / HTTP/1.1\r\n\r\n"u8.ToArray());
        var result = await TlsHandshake.AcceptAsync(transport, ServerOptions(), Limit, TimeProvider.System, CancellationToken.None);
        Assert.Equal(TlsHandshakeStatus.NotTls, result.Status);
        Assert.Equal("GET / HT"u8.ToArray(), result.FirstBytes.ToArray());

        // Nothing was said yet, and the connection can still be used.
        await transport.SendAsync("no"u8.ToArray());
        Assert.Equal(2, await right.ReceiveAsync(new byte[10]));
        right.Dispose();
    }

    [Fact]
    public async Task A_peer_that_leaves_and_one_that_waits_are_distinguished()
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var leaving = new SocketTransport(left);
        right.Dispose();
        var closed = await TlsHandshake.AcceptAsync(
            leaving, ServerOptions(), Limit, TimeProvider.System, CancellationToken.None).WaitAsync(Limit);
        Assert.Equal(TlsHandshakeStatus.Closed, closed.Status);

        (left, right) = await ConnectSocketsAsync();
        await using var waiting = new SocketTransport(left);
        var slow = await TlsHandshake.AcceptAsync(
            waiting, ServerOptions(), TimeSpan.FromMilliseconds(50), TimeProvider.System, CancellationToken.None).WaitAsync(Limit);
        Assert.Equal(TlsHandshakeStatus.TimedOut, slow.Status);
        right.Dispose();
    }

    private static async Task SendAsync(IUplinkTransport transport, int batch, int length)
    {
        for (var sent = 0; sent < length; sent += batch)
        {
            var bytes = new byte[batch];
            for (var i = 0; i < batch; i++)
            {
                bytes[i] = (byte)((sent + i) * 31);
            }

            await transport.SendAsync(bytes);
        }
    }

    private static async Task ReceiveAsync(IUplinkTransport transport, int length)
    {
        var buffer = new byte[100_000];
        for (var total = 0; total < length;)
        {
            var received = await transport.ReceiveAsync(buffer);
            Assert.InRange(received, 1, length - total);
            for (var i = 0; i < received; i++)
            {
                if (buffer[i] != (byte)((total + i) * 31))
                {
                    Assert.Fail($"Byte {total + i} is wrong.");
                }
            }

            total += received;
        }
    }

    internal override Task<(IUplinkTransport Left, IUplinkTransport Right)> ConnectAsync() =>
        ConnectAsync(static socket => new SocketTransport(socket));

    private static async Task<(IUplinkTransport Left, IUplinkTransport Right)> ConnectAsync(Func<Socket, IUplinkTransport> adopt)
    {
        var (left, right) = await ConnectSocketsAsync();
        var client = new SslClientAuthenticationOptions
        {
            TargetHost = "test",
            RemoteCertificateValidationCallback = (_, certificate, _, _) =>
                certificate?.GetCertHashString() == _certificate.GetCertHashString(),
        };
        var accepting = TlsHandshake.AcceptAsync(adopt(left), ServerOptions(), Limit, TimeProvider.System, CancellationToken.None);
        var connecting = TlsHandshake.ConnectAsync(adopt(right), client, Limit, TimeProvider.System, CancellationToken.None);
        var results = await Task.WhenAll(accepting, connecting).WaitAsync(Limit);
        Assert.All(results, static result => Assert.True(result.Status == TlsHandshakeStatus.Done, $"{result.Status} {result.Detail}"));
        Assert.NotNull(results[1].Transport!.RemoteCertificate);
        return (results[0].Transport!, results[1].Transport!);
    }

    private static SslServerAuthenticationOptions ServerOptions() =>
        new() { ServerCertificateContext = SslStreamCertificateContext.Create(_certificate, null, offline: true) };
}
