using System.Net.Sockets;
using System.Security.Authentication;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Diagnostics;

/// <summary>Why no session with the server came about, before the server itself said anything.</summary>
public enum ConnectFailureReason
{
    /// <summary>None of the others.</summary>
    Other = 0,

    /// <summary>Nobody listens at that port.</summary>
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
}

/// <summary>An attempt that did not reach the server, with the words for it.</summary>
/// <param name="Reason">Why.</param>
/// <param name="Message">One line for the user: what happened, where, and what to look at.</param>
public sealed record ConnectFailure(ConnectFailureReason Reason, string Message)
{
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
                $"Cannot reach the server at {server}: connection refused. Is tunnel2-entry running there, and is this its uplink port?",
            ConnectFailureReason.TimedOut =>
                $"Cannot reach the server at {server}: no answer in time. A firewall may drop the packets, or the host is down.",
            ConnectFailureReason.NameNotResolved =>
                $"Cannot reach the server at {server}: the host name '{server.Host}' has no address (DNS){tail}.",
            ConnectFailureReason.NoRoute =>
                $"Cannot reach the server at {server}: no route to that host. Is the network up?",
            ConnectFailureReason.ClosedEarly =>
                $"The server at {server} closed the connection before it answered. It may be starting or stopping, or expect TLS.",
            ConnectFailureReason.NotTunnel2 =>
                $"Something else than a Tunnel2 server answers at {server}. Check the port: the uplink port is {ServerEndpoint.DefaultPort} "
                + "by default, not the public port.",
            ConnectFailureReason.TlsFailed =>
                $"TLS with the server at {server} failed{tail}.",
            _ => $"Cannot reach the server at {server}{tail}.",
        };
        return new ConnectFailure(reason, message);
    }

    /// <summary>Tells from what connecting or the handshake threw why it failed. A cancelled attempt counts as timed out.</summary>
    public static ConnectFailure From(ServerEndpoint server, Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        for (Exception? cause = exception; cause is not null; cause = cause.InnerException)
        {
            switch (cause)
            {
                case SocketException socket:
                    return Create(server, FromSocket(socket.SocketErrorCode), socket.Message);
                case AuthenticationException:
                    return Create(server, ConnectFailureReason.TlsFailed, cause.Message);
                case OperationCanceledException or TimeoutException:
                    return Create(server, ConnectFailureReason.TimedOut);
                case EndOfStreamException:
                    return Create(server, ConnectFailureReason.ClosedEarly);
                default:
                    break;
            }
        }

        return Create(server, ConnectFailureReason.Other, exception.Message);
    }

    private static ConnectFailureReason FromSocket(SocketError error) => error switch
    {
        SocketError.ConnectionRefused => ConnectFailureReason.Refused,
        SocketError.TimedOut => ConnectFailureReason.TimedOut,
        SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain or SocketError.NoRecovery => ConnectFailureReason.NameNotResolved,
        SocketError.NetworkUnreachable or SocketError.HostUnreachable or SocketError.NetworkDown or SocketError.HostDown
            or SocketError.AddressNotAvailable => ConnectFailureReason.NoRoute,
        SocketError.ConnectionReset or SocketError.ConnectionAborted or SocketError.Shutdown => ConnectFailureReason.ClosedEarly,
        _ => ConnectFailureReason.Other,
    };
}
