using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Inspecting;

/// <summary>
/// Opens the connection of a replay: to the server that the user named, at the port of the public URL, or to the service. No other host
/// can be reached.
/// </summary>
internal static class ReplayConnector
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(5);

    /// <summary>Connects to the server's public listener.</summary>
    /// <param name="server">The server as the user named it.</param>
    /// <param name="url">The public URL.</param>
    /// <param name="time">The clock.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>A connection, or why there is none.</returns>
    public static Task<(Stream? Connection, string? Error)> ToServerAsync(
        ServerEndpoint server, Uri url, TimeProvider time, CancellationToken cancellationToken) =>
        OpenAsync(
            [server.Host],
            url.Port,
            url.Scheme == Uri.UriSchemeHttps ? new SslClientAuthenticationOptions { TargetHost = url.IdnHost } : null,
            trustsLoopback: false,
            time,
            cancellationToken);

    /// <summary>Connects to the service.</summary>
    public static Task<(Stream? Connection, string? Error)> ToServiceAsync(
        BackendTarget target, TimeProvider time, CancellationToken cancellationToken) =>
        OpenAsync(
            target.TriesIPv6Loopback ? ["127.0.0.1", "::1"] : [target.Host],
            target.Port,
            target.IsHttps ? new SslClientAuthenticationOptions { TargetHost = target.Host } : null,
            trustsLoopback: true,
            time,
            cancellationToken);

    [SuppressMessage(
        "Security",
        "CA5359",
        Justification = "A service on loopback only, as for visitors' requests: nothing is between a machine and itself.")]
    private static async Task<(Stream? Connection, string? Error)> OpenAsync(
        string[] hosts,
        int port,
        SslClientAuthenticationOptions? tls,
        bool trustsLoopback,
        TimeProvider time,
        CancellationToken cancellationToken)
    {
        using var limit = new CancellationTokenSource(_patience, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, cancellationToken);
        var error = "no address";
        foreach (var host in hosts)
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            Stream? stream = null;
            try
            {
                await socket.ConnectAsync(host, port, either.Token).ConfigureAwait(false);
                stream = new NetworkStream(socket, ownsSocket: true);
                if (tls is null)
                {
                    return (stream, null);
                }

                var isLoopback = socket.RemoteEndPoint is IPEndPoint { Address: var address } && IPAddress.IsLoopback(address);
                var trustsAny = trustsLoopback && isLoopback;
                tls.RemoteCertificateValidationCallback = (_, _, _, errors) => trustsAny || errors == SslPolicyErrors.None;
                var encrypted = new SslStream(stream, leaveInnerStreamOpen: false);
                stream = encrypted;
                await encrypted.AuthenticateAsClientAsync(tls, either.Token).ConfigureAwait(false);
                return (encrypted, null);
            }
            catch (Exception exception)
                when (exception is SocketException or IOException or AuthenticationException or OperationCanceledException)
            {
                if (stream is not null)
                {
                    await stream.DisposeAsync().ConfigureAwait(false);
                }

                socket.Dispose();
                error = exception switch
                {
                    AuthenticationException => "its certificate is not trusted here",
                    OperationCanceledException => "no connection in time",
                    SocketException { SocketErrorCode: SocketError.ConnectionRefused } => "connection refused",
                    SocketException { SocketErrorCode: SocketError.HostNotFound } => "host name not found (DNS)",
                    _ => "no connection",
                };
            }
        }

        return (null, error);
    }
}
