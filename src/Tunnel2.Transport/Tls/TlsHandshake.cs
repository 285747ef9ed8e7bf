using System.Net.Security;
using System.Security.Authentication;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;

namespace Tunnel2.Transport.Tls;

/// <summary>
/// Does TLS handshakes over a connected transport. After each message of the peer it runs on the thread pool, on any transport.
/// </summary>
internal static class TlsHandshake
{
    /// <summary>The uplink's application protocol (RFC 7301).</summary>
    public static SslApplicationProtocol ApplicationProtocol { get; } = new(ProtocolVersion.Alpn);

    /// <summary>The relay's application protocol, so that a relay and an uplink with the same certificate cannot be mistaken.</summary>
    public static SslApplicationProtocol RelayProtocol { get; } = new("tunnel2-relay/1");

    /// <summary>The application protocol of the links between nodes.</summary>
    public static SslApplicationProtocol NodeProtocol { get; } = new(ProtocolVersion.NodeAlpn);

    /// <summary>TLS 1.2 is the minimum.</summary>
    public const SslProtocols Protocols = SslProtocols.Tls12 | SslProtocols.Tls13;

    /// <summary>The server's side of an uplink.</summary>
    /// <param name="transport">
    /// The connection. On success the encrypted transport owns it; otherwise it still belongs to the caller.
    /// </param>
    /// <param name="options">Certificate and trust; the application protocol is set here.</param>
    /// <param name="limit">How long the peer may take; then the transport is aborted.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="cancellationToken">Cancels the handshake.</param>
    /// <param name="turn">Waited for once the peer's first message is there. The server's cryptography runs in its continuation.</param>
    public static Task<TlsHandshakeResult> AcceptAsync(
        IUplinkTransport transport, SslServerAuthenticationOptions options, TimeSpan limit, TimeProvider timeProvider,
        CancellationToken cancellationToken, Func<ValueTask>? turn = null) =>
        AcceptAsync(transport, ApplicationProtocol, options, limit, timeProvider, cancellationToken, turn);

    /// <summary>The server's side of any connection whose peers agree on an application protocol.</summary>
    /// <param name="transport">The connection, as of an uplink.</param>
    /// <param name="protocol">The application protocol; another one, or none, fails the handshake.</param>
    /// <param name="options">Certificate and trust; the application protocol is set here.</param>
    /// <param name="limit">How long the peer may take; then the transport is aborted.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="cancellationToken">Cancels the handshake.</param>
    /// <param name="turn">As of an uplink.</param>
    public static Task<TlsHandshakeResult> AcceptAsync(
        IByteTransport transport, SslApplicationProtocol protocol, SslServerAuthenticationOptions options, TimeSpan limit,
        TimeProvider timeProvider, CancellationToken cancellationToken, Func<ValueTask>? turn = null)
    {
        options.ApplicationProtocols = [protocol];
        options.EnabledSslProtocols = Protocols;
        options.AllowRenegotiation = false;
        return RunAsync(
            transport,
            protocol,
            protocol == ApplicationProtocol || protocol == NodeProtocol,
            tls => turn is null
                ? tls.AuthenticateAsServerAsync(options, CancellationToken.None)
                : tls.AuthenticateAsServerAsync((_, _, _, _) => InTurnAsync(turn, options), null, CancellationToken.None),
            limit,
            timeProvider,
            cancellationToken);
    }

    private static async ValueTask<SslServerAuthenticationOptions> InTurnAsync(
        Func<ValueTask> turn, SslServerAuthenticationOptions options)
    {
        await turn().ConfigureAwait(false);
        return options;
    }

    /// <summary>The client's side of an uplink; parameters as of the server's side.</summary>
    public static Task<TlsHandshakeResult> ConnectAsync(
        IUplinkTransport transport, SslClientAuthenticationOptions options, TimeSpan limit, TimeProvider timeProvider,
        CancellationToken cancellationToken) =>
        ConnectAsync(transport, ApplicationProtocol, options, limit, timeProvider, cancellationToken);

    /// <summary>
    /// The client's side of any connection whose peers agree on an application protocol; parameters as of the server's side.
    /// </summary>
    public static Task<TlsHandshakeResult> ConnectAsync(
        IByteTransport transport, SslApplicationProtocol protocol, SslClientAuthenticationOptions options, TimeSpan limit,
        TimeProvider timeProvider, CancellationToken cancellationToken)
    {
        options.ApplicationProtocols = [protocol];
        options.EnabledSslProtocols = Protocols;
        options.AllowRenegotiation = false;
        return RunAsync(
            transport,
            protocol,
            protocol == ApplicationProtocol || protocol == NodeProtocol,
            tls => tls.AuthenticateAsClientAsync(options, CancellationToken.None),
            limit,
            timeProvider,
            cancellationToken);
    }

    /// <summary>
    /// The client's side of an uplink over WebSocket: HTTP/1.1 is offered, and a server that chooses no application protocol is taken too.
    /// Parameters as of the server's side.
    /// </summary>
    public static Task<TlsHandshakeResult> ConnectToHttpAsync(
        IUplinkTransport transport, SslClientAuthenticationOptions options, TimeSpan limit, TimeProvider timeProvider,
        CancellationToken cancellationToken)
    {
        options.ApplicationProtocols = [SslApplicationProtocol.Http11];
        options.EnabledSslProtocols = Protocols;
        options.AllowRenegotiation = false;
        return RunAsync(
            transport,
            protocol: null,
            isUplink: true,
            tls => tls.AuthenticateAsClientAsync(options, CancellationToken.None),
            limit,
            timeProvider,
            cancellationToken);
    }

    /// <summary>The client's side of any other connection, with the given options, limited only by its token.</summary>
    public static Task<TlsHandshakeResult> ConnectAsync(
        IByteTransport transport, SslClientAuthenticationOptions options, CancellationToken cancellationToken) =>
        RunAsync(
            transport,
            protocol: null,
            isUplink: false,
            tls => tls.AuthenticateAsClientAsync(options, CancellationToken.None),
            Timeout.InfiniteTimeSpan,
            TimeProvider.System,
            cancellationToken);

    private static async Task<TlsHandshakeResult> RunAsync(
        IByteTransport transport,
        SslApplicationProtocol? protocol,
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
            if (protocol is not { } wanted || tls.NegotiatedApplicationProtocol == wanted)
            {
                bytes.EndHandshake();
                return new TlsHandshakeResult(TlsHandshakeStatus.Done, new TlsTransport(transport, bytes, tls), bytes.FirstBytes, "");
            }

            status = TlsHandshakeStatus.OtherProtocol;
        }
        catch (Exception exception)
            when (exception is AuthenticationException or IOException or InvalidOperationException or NotSupportedException)
        {
            // The order matters: an abort by the limit appears as a failed connection, and foreign bytes as a refused handshake.
            status = deadline.IsCancellationRequested ? TlsHandshakeStatus.TimedOut
                : bytes.IsForeign ? TlsHandshakeStatus.NotTls
                : exception is AuthenticationException ? TlsHandshakeStatus.Refused
                : TlsHandshakeStatus.Closed;
            detail = Describe(exception);
        }
        catch
        {
            // A fault in the judgement of a certificate, for example: the caller's, but nothing of the handshake may be left.
            await EndAsync(tls, bytes).ConfigureAwait(false);
            throw;
        }

        await EndAsync(tls, bytes).ConfigureAwait(false);
        return new TlsHandshakeResult(status, null, bytes.FirstBytes, detail);
    }

    private static async ValueTask EndAsync(SslStream tls, TlsByteStream bytes)
    {
        await tls.DisposeAsync().ConfigureAwait(false);
        bytes.ReturnBuffer();
    }

    /// <summary>
    /// The innermost message is the most useful: "… sslv3 alert bad certificate" instead of "authentication failed, see inner exception".
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
