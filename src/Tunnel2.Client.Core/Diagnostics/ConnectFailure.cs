using System.Net.Sockets;
using System.Security.Authentication;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Core.Diagnostics;

/// <summary>Why no session with the server came about, before the server itself said anything.</summary>
public enum ConnectFailureReason
{
    /// <summary>None of the others.</summary>
    Other = 0,

    /// <summary>No process listens at that port.</summary>
    Refused,

    /// <summary>No answer in time: a firewall drops packets, or the host is off.</summary>
    TimedOut,

    /// <summary>The host name has no address.</summary>
    NameNotResolved,

    /// <summary>There is no way to that network or host.</summary>
    NoRoute,

    /// <summary>The connection came about, and was closed before the server said anything.</summary>
    ClosedEarly,

    /// <summary>What answered does not speak the uplink protocol.</summary>
    NotTunnel2,

    /// <summary>TLS failed: an untrusted certificate, another name, or no TLS at that port.</summary>
    TlsFailed,

    /// <summary>An HTTP server answers.</summary>
    HttpServer,

    /// <summary>The public port of a Tunnel2 server answers, not its uplink port.</summary>
    PublicPort,

    /// <summary>An HTTP proxy answers in the server's place.</summary>
    HttpProxy,

    /// <summary>What answers speaks TLS, and the agent did not.</summary>
    SpeaksTls,

    /// <summary>The proxy itself cannot be reached.</summary>
    ProxyUnreachable,

    /// <summary>The proxy wants a user and password, or others than it got.</summary>
    ProxyAuthentication,

    /// <summary>The proxy does not connect to the server.</summary>
    ProxyRefused,

    /// <summary>The proxy does not answer, or not as a proxy does.</summary>
    ProxyFailed,

    /// <summary>The public port does not open a WebSocket for an uplink.</summary>
    WebSocketRefused,
}

/// <summary>An attempt that did not reach the server, with the words for it.</summary>
/// <param name="Reason">Why.</param>
/// <param name="Message">One line for the user: what happened, where, and what to look at.</param>
public sealed record ConnectFailure(ConnectFailureReason Reason, string Message)
{
    private const string PublicPortWords = "public port (443 by default, without TLS 80)";

    /// <summary>
    /// The fingerprint of the server's certificate, where nothing is wrong with it but that no authority known here has issued it: a user
    /// may decide to trust it. Otherwise null.
    /// </summary>
    internal string? UntrustedFingerprint { get; init; }

    /// <summary>Whether the server's certificate has ended or has not begun by this machine's clock.</summary>
    internal bool IsOutOfDate { get; init; }

    /// <summary>The way whose port does not speak TLS, where TLS failed because of it. Otherwise null.</summary>
    internal UplinkWay? WithoutTls { get; init; }

    /// <summary>Makes the user's words for <paramref name="reason"/>.</summary>
    /// <param name="server">Where the agent tried to connect.</param>
    /// <param name="reason">Why it failed.</param>
    /// <param name="detail">Words of the operating system or the TLS stack, used where they add something.</param>
    public static ConnectFailure Create(ServerEndpoint server, ConnectFailureReason reason, string? detail = null)
    {
        ArgumentNullException.ThrowIfNull(server);
        string tail = string.IsNullOrWhiteSpace(detail) ? "" : $" ({detail.Trim().TrimEnd('.')})";
        string message = reason switch
        {
            ConnectFailureReason.Refused =>
                $"Cannot reach the server at {server}: connection refused. Is tunnel2-entry running there, and is this its uplink port "
                + $"({ServerEndpoint.DefaultPort} by default)?",
            ConnectFailureReason.TimedOut =>
                $"Cannot reach the server at {server}: no answer in time. Check that the host is up and that no firewall on the way "
                    + $"drops the port.",
            ConnectFailureReason.NameNotResolved =>
                $"Cannot reach the server at {server}: the host name '{server.Host}' has no address (DNS){tail}. Check how it is "
                    + $"written, and this "
                + "machine's network.",
            ConnectFailureReason.NoRoute =>
                $"Cannot reach the server at {server}: no route to that host. Is the network up?",
            ConnectFailureReason.ClosedEarly =>
                $"The server at {server} closed the connection before it answered. It may be starting or stopping; if it stays so, a "
                    + $"proxy or "
                + "firewall on the way cuts what it does not know, or the port is not the uplink port.",
            ConnectFailureReason.NotTunnel2 =>
                $"Something else than a Tunnel2 server answers at {server}{tail}. Check the port: the uplink port is "
                    + $"{ServerEndpoint.DefaultPort} "
                + "by default, not the public port.",
            ConnectFailureReason.HttpServer =>
                $"Something else than a Tunnel2 server answers at {server}: an HTTP server{tail}. Check the port: the uplink port is "
                + $"{ServerEndpoint.DefaultPort} by default, and an HTTP proxy cannot be in front of it.",
            ConnectFailureReason.PublicPort =>
                $"Something else than a Tunnel2 server answers at {server}. It is the server's public port, which is for visitors: "
                    + $"agents connect to "
                + $"its uplink port, {ServerEndpoint.DefaultPort} by default, as in "
                    + $"{HostPort.Format(server.Host, ServerEndpoint.DefaultPort)}. Where no other port can be reached: "
                    + $"wss://{server} (ws:// without TLS).",
            ConnectFailureReason.HttpProxy =>
                $"An HTTP proxy answers at {server} in the server's place. The uplink is no HTTP: connect past the proxy, or have it pass "
                + "that port on as plain TCP.",
            ConnectFailureReason.SpeaksTls =>
                $"The server at {server} speaks TLS, and this agent did not. Connect with TLS: write the server as tls://{server}.",
            ConnectFailureReason.TlsFailed =>
                $"TLS with the server at {server} failed{tail}.",
            _ => $"Cannot reach the server at {server}{tail}.",
        };
        return new ConnectFailure(reason, message);
    }

    /// <summary>Makes the user's words for a way to the server.</summary>
    /// <param name="server">Where the agent tried to connect on that way.</param>
    /// <param name="way">The way: each has a port of its own, which the words name.</param>
    /// <param name="reason">Why it failed.</param>
    /// <param name="detail">Words of the operating system or the TLS stack, used where they add something.</param>
    internal static ConnectFailure Create(ServerEndpoint server, UplinkWay way, ConnectFailureReason reason, string? detail = null)
    {
        if (way != UplinkWay.WebSocket)
        {
            return Create(server, reason, detail);
        }

        string tail = string.IsNullOrWhiteSpace(detail) ? "" : $" ({detail.Trim().TrimEnd('.')})";
        return AtWebSocket(server, reason switch
        {
            ConnectFailureReason.Refused => $"connection refused. Is the server running there, and is this its {PublicPortWords}?",
            ConnectFailureReason.TimedOut =>
                "no answer in time. Check that the host is up and that no firewall on the way drops the port",
            ConnectFailureReason.NameNotResolved =>
                $"the host name '{server.Host}' has no address (DNS){tail}. Check how it is written, and this machine's network",
            ConnectFailureReason.NoRoute => "no route to that host. Is the network up?",
            ConnectFailureReason.ClosedEarly =>
                "the connection was closed before an answer came. The server may be starting or stopping; if it stays so, a proxy or "
                    + "firewall on the way cuts what it does not know",
            ConnectFailureReason.NotTunnel2 or ConnectFailureReason.HttpServer or ConnectFailureReason.SpeaksTls =>
                $"something else than a Tunnel2 server answers{tail}. Is this the server's {PublicPortWords}?",
            ConnectFailureReason.TlsFailed => $"TLS failed{tail}",
            _ => string.IsNullOrWhiteSpace(detail) ? "it failed" : detail,
        }, reason);
    }

    /// <summary>Makes the words for a server that was not reached because of the proxy.</summary>
    /// <param name="server">Where the proxy was to connect.</param>
    /// <param name="way">What that port of the server is for.</param>
    /// <param name="proxy">The proxy; its user and password are not shown.</param>
    /// <param name="reason">One of the four about proxies.</param>
    /// <param name="detail">What happened at the proxy, to follow its name.</param>
    internal static ConnectFailure AtProxy(
        ServerEndpoint server, UplinkWay way, ProxyAddress proxy, ConnectFailureReason reason, string detail)
    {
        string words = $"the proxy {proxy} {PlainText.Clean(detail).TrimEnd('.')}";
        return way == UplinkWay.WebSocket
            ? AtWebSocket(server, words, reason)
            : new ConnectFailure(reason, $"Cannot reach the server at {server}: {words}{(words.EndsWith('?') ? "" : ".")}");
    }

    /// <summary>Makes the words for a public port that does not open a WebSocket.</summary>
    /// <param name="server">The server's public address.</param>
    /// <param name="detail">What happened.</param>
    /// <param name="reason">Why.</param>
    internal static ConnectFailure AtWebSocket(
        ServerEndpoint server, string detail, ConnectFailureReason reason = ConnectFailureReason.WebSocketRefused)
    {
        string words = PlainText.Clean(detail).TrimEnd('.');
        return new ConnectFailure(
            reason, $"Cannot open an uplink over WebSocket at {server}: {words}{(words.EndsWith('?') ? "" : ".")}");
    }

    /// <summary>Reads from an exception of connecting or of the handshake why it failed. A cancelled attempt counts as timed out.</summary>
    public static ConnectFailure From(ServerEndpoint server, Exception exception) => From(server, UplinkWay.Direct, exception);

    /// <summary>The same for a way to the server.</summary>
    internal static ConnectFailure From(ServerEndpoint server, UplinkWay way, Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        for (Exception? cause = exception; cause is not null; cause = cause.InnerException)
        {
            switch (cause)
            {
                case SocketException socket:
                    return Create(server, way, FromSocket(socket.SocketErrorCode), socket.Message);
                case AuthenticationException:
                    return Create(server, way, ConnectFailureReason.TlsFailed, cause.Message);
                case OperationCanceledException or TimeoutException:
                    return Create(server, way, ConnectFailureReason.TimedOut);
                case EndOfStreamException:
                    return Create(server, way, ConnectFailureReason.ClosedEarly);
                default:
                    break;
            }
        }

        return Create(server, way, ConnectFailureReason.Other, exception.Message);
    }

    private static ConnectFailureReason FromSocket(SocketError error) => error switch
    {
        SocketError.ConnectionRefused => ConnectFailureReason.Refused,
        SocketError.TimedOut => ConnectFailureReason.TimedOut,
        SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain or SocketError.NoRecovery =>
            ConnectFailureReason.NameNotResolved,
        SocketError.NetworkUnreachable or SocketError.HostUnreachable or SocketError.NetworkDown or SocketError.HostDown
            or SocketError.AddressNotAvailable => ConnectFailureReason.NoRoute,
        SocketError.ConnectionReset or SocketError.ConnectionAborted or SocketError.Shutdown => ConnectFailureReason.ClosedEarly,
        _ => ConnectFailureReason.Other,
    };
}
