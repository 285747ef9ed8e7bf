using System.Net.Security;
using System.Security.Authentication;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;

namespace Tunnel2.Transport.Tls;

/// <summary>
/// Shakes hands over a connected transport. Behind the peer's every message it runs on the thread pool, wherever the transport completes
/// its receives.
/// </summary>
internal static class TlsHandshake
{
    /// <summary>The uplink's application protocol (RFC 7301).</summary>
    public static SslApplicationProtocol ApplicationProtocol { get; } = new(ProtocolVersion.Alpn);

    /// <summary>TLS 1.2 is the least.</summary>
    public const SslProtocols Protocols = SslProtocols.Tls12 | SslProtocols.Tls13;

    /// <summary>The server's side of an uplink.</summary>
    /// <param name="transport">The connection. The encrypted transport owns it when there is one; otherwise it stays the caller's.</param>
    /// <param name="options">Certificate and trust; the application protocol is set here.</param>
    /// <param name="limit">How long the peer may take; the transport is aborted then.</param>
    /// <param name="timeProvider">Time.</param>
    /// <param name="cancellationToken">Gives up early.</param>
    public static Task<TlsHandshakeResult> AcceptAsync(
        IUplinkTransport transport, SslServerAuthenticationOptions options, TimeSpan limit, TimeProvider timeProvider,
        CancellationToken cancellationToken)
    {
        options.ApplicationProtocols = [ApplicationProtocol];
        options.EnabledSslProtocols = Protocols;
        options.AllowRenegotiation = false;
        return RunAsync(
            transport,
            isUplink: true,
            tls => tls.AuthenticateAsServerAsync(options, CancellationToken.None),
            limit,
            timeProvider,
            cancellationToken);
    }

    /// <summary>The client's side of an uplink; parameters as of <see cref="AcceptAsync"/>.</summary>
    public static Task<TlsHandshakeResult> ConnectAsync(
        IUplinkTransport transport, SslClientAuthenticationOptions options, TimeSpan limit, TimeProvider timeProvider,
        CancellationToken cancellationToken)
    {
        options.ApplicationProtocols = [ApplicationProtocol];
        options.EnabledSslProtocols = Protocols;
        options.AllowRenegotiation = false;
        return RunAsync(
            transport,
            isUplink: true,
            tls => tls.AuthenticateAsClientAsync(options, CancellationToken.None),
            limit,
            timeProvider,
            cancellationToken);
    }

    /// <summary>The client's side of any other connection: as its options say, and for as long as its token lets it.</summary>
    public static Task<TlsHandshakeResult> ConnectAsync(
        IByteTransport transport, SslClientAuthenticationOptions options, CancellationToken cancellationToken) =>
        RunAsync(
            transport,
            isUplink: false,
            tls => tls.AuthenticateAsClientAsync(options, CancellationToken.None),
            Timeout.InfiniteTimeSpan,
            TimeProvider.System,
            cancellationToken);

    private static async Task<TlsHandshakeResult> RunAsync(
        IByteTransport transport,
        bool isUplink,
        Func<SslStream, Task> authenticate,
        TimeSpan limit,
        TimeProvider timeProvider,
        CancellationToken cancellationToken)
    {
        using var deadline = new CancellationTokenSource(limit, timeProvider);
        using var linked = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, cancellationToken);
        using var registration = linked.Token.UnsafeRegister(static state => ((IByteTransport)state!).Abort(), transport);
        var bytes = new TlsByteStream(transport, BufferPool.Shared, isUplink);
        var tls = new SslStream(bytes, leaveInnerStreamOpen: true);
        TlsHandshakeStatus status;
        var detail = "";
        try
        {
            await authenticate(tls).ConfigureAwait(false);
            if (!isUplink || tls.NegotiatedApplicationProtocol == ApplicationProtocol)
            {
                bytes.EndHandshake();
                return new TlsHandshakeResult(TlsHandshakeStatus.Done, new TlsTransport(transport, bytes, tls), bytes.FirstBytes, "");
            }

            status = TlsHandshakeStatus.OtherProtocol;
        }
        catch (Exception exception)
            when (exception is AuthenticationException or IOException or InvalidOperationException or NotSupportedException)
        {
            // An order that matters: an abort by the limit shows as a failed connection, and foreign bytes as a refused handshake.
            status = deadline.IsCancellationRequested ? TlsHandshakeStatus.TimedOut
                : bytes.IsForeign ? TlsHandshakeStatus.NotTls
                : exception is AuthenticationException ? TlsHandshakeStatus.Refused
                : TlsHandshakeStatus.Closed;
            detail = Describe(exception);
        }

        await tls.DisposeAsync().ConfigureAwait(false);
        bytes.ReturnBuffers();
        return new TlsHandshakeResult(status, null, bytes.FirstBytes, detail);
    }

    /// <summary>
    /// The innermost words say most: "… sslv3 alert bad certificate" rather than "authentication failed, see inner exception".
    /// </summary>
    private static string Describe(Exception exception)
    {
        while (exception.InnerException is { } inner)
        {
            exception = inner;
        }

        return exception.Message.ReplaceLineEndings(" ");
    }
}
