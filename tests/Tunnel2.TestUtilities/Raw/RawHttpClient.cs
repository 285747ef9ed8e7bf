using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities;

/// <summary>A visitor that speaks HTTP/1.1 byte for byte as the test says.</summary>
public sealed class RawHttpClient : RawConnection
{
    private RawHttpClient(Socket socket, SslStream? stream)
        : base(socket, stream)
    {
    }

    /// <summary>Connects over TCP.</summary>
    /// <param name="endPoint">Where to.</param>
    /// <param name="receiveBufferSize">The kernel's receive buffer in bytes, to play a slow reader; 0: its default.</param>
    /// <param name="cancellationToken">Ends the attempt.</param>
    public static async Task<RawHttpClient> ConnectAsync(
        IPEndPoint endPoint, int receiveBufferSize = 0, CancellationToken cancellationToken = default) =>
        new(await ConnectSocketAsync(endPoint, receiveBufferSize, cancellationToken).ConfigureAwait(false), null);

    /// <summary>Connects over TLS and trusts any certificate.</summary>
    /// <param name="endPoint">Where to.</param>
    /// <param name="serverName">The name to ask for (SNI).</param>
    /// <param name="certificate">The client's own; null: none.</param>
    /// <param name="cancellationToken">Ends the attempt.</param>
    [SuppressMessage("Security", "CA5359", Justification = "A test backend's certificate is made at its start; no program can know it.")]
    public static async Task<RawHttpClient> ConnectTlsAsync(
        IPEndPoint endPoint, string serverName = "localhost", SslStreamCertificateContext? certificate = null,
        CancellationToken cancellationToken = default)
    {
        var socket = await ConnectSocketAsync(endPoint, 0, cancellationToken).ConfigureAwait(false);
        var stream = new SslStream(new NetworkStream(socket, ownsSocket: true));
        try
        {
            await stream.AuthenticateAsClientAsync(
                new SslClientAuthenticationOptions
                {
                    TargetHost = serverName,
                    ApplicationProtocols = [SslApplicationProtocol.Http11],
                    ClientCertificateContext = certificate,
                    RemoteCertificateValidationCallback = static (_, _, _, _) => true,
                },
                cancellationToken).ConfigureAwait(false);
            return new RawHttpClient(socket, stream);
        }
        catch
        {
            await stream.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Sends a request without a body.</summary>
    /// <param name="target">The request target.</param>
    /// <param name="host">The Host field.</param>
    /// <param name="method">The method.</param>
    /// <param name="fields">Further lines, each ended by CRLF.</param>
    public Task SendRequestAsync(string target, string host = "localhost", string method = "GET", string fields = "") =>
        WriteAsync($"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");

    /// <summary>Reads the next head that is no interim one (1xx but 101).</summary>
    public async Task<RawHttpHead> ReadFinalHeadAsync(CancellationToken cancellationToken = default)
    {
        while (true)
        {
            var head = await ReadHeadAsync(cancellationToken).ConfigureAwait(false);
            if (head.StatusCode is >= 200 or 101)
            {
                return head;
            }
        }
    }

    /// <summary>Sends a request without a body and reads its final answer.</summary>
    public async Task<(RawHttpHead Head, RawHttpBody Body)> ExchangeAsync(
        string target, string host = "localhost", string method = "GET", string fields = "",
        CancellationToken cancellationToken = default)
    {
        await SendRequestAsync(target, host, method, fields).ConfigureAwait(false);
        var head = await ReadFinalHeadAsync(cancellationToken).ConfigureAwait(false);
        return (head, await ReadBodyAsync(head, method, cancellationToken).ConfigureAwait(false));
    }

    private static async Task<Socket> ConnectSocketAsync(IPEndPoint endPoint, int receiveBufferSize, CancellationToken cancellationToken)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            if (receiveBufferSize > 0)
            {
                // Before connecting, because the window is announced in the handshake.
                socket.ReceiveBufferSize = receiveBufferSize;
            }

            await socket.ConnectAsync(endPoint, cancellationToken).ConfigureAwait(false);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
