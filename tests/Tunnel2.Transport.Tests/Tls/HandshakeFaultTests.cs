using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Transport.Tests.Tls;

/// <summary>Alone: it counts the buffers of all.</summary>
[CollectionDefinition(nameof(HandshakeFaultTests), DisableParallelization = true)]
[Collection(nameof(HandshakeFaultTests))]
public sealed class HandshakeFaultTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);

    [Fact]
    public async Task A_fault_in_the_judgement_of_a_certificate_leaves_nothing_of_the_handshake()
    {
        var before = BufferPool.Shared.Outstanding;
        using var certificate = SelfMadeCertificate.Create();
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var connecting = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await connecting.ConnectAsync(listener.LocalEndpoint);
        await using var server = new SocketTransport(await listener.AcceptSocketAsync());
        await using var client = new SocketTransport(connecting);
        var accepting = TlsHandshake.AcceptAsync(
            server,
            new SslServerAuthenticationOptions { ServerCertificateContext = SslStreamCertificateContext.Create(certificate, null, true) },
            _limit, TimeProvider.System, CancellationToken.None);
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            RemoteCertificateValidationCallback = static (_, _, _, _) => throw new CryptographicException("It cannot be read."),
        };
        await Assert.ThrowsAsync<CryptographicException>(
            () => TlsHandshake.ConnectAsync(client, options, _limit, TimeProvider.System, CancellationToken.None));
        client.Abort();
        var accepted = await accepting.WaitAsync(_limit);
        await (accepted.Transport?.DisposeAsync() ?? default);
        await WaitSignal.UntilAsync(
            () => BufferPool.Shared.Outstanding == before, $"all buffers are back ({before} were out before)");
    }
}
