using System.Net;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// Agents that come over WebSocket to a public listener. After the opening handshake they are served as at the uplink's own port, by the
/// same code, with the same limits and times. Thread-safe.
/// </summary>
internal sealed class WebSocketUplinks
{
    private readonly ProxyEntrySettings _settings;
    private readonly UplinkAcceptor _acceptor;
    private readonly ConnectionLimits _limits;
    private readonly ListenerConnections _connections;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public WebSocketUplinks(
        ProxyEntrySettings settings,
        UplinkAcceptor acceptor,
        ConnectionLimits limits,
        ListenerConnections connections,
        TimeProvider timeProvider,
        ILogger<WebSocketUplinks> logger)
    {
        _settings = settings;
        _acceptor = acceptor;
        _limits = limits;
        _connections = connections;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>Whether the settings allow them; without, the path belongs to the tunnels like any other.</summary>
    public bool IsOn => _settings.UplinkWebSocket;

    /// <summary>Serves an agent until its uplink ends, or refuses it.</summary>
    /// <param name="exchange">The exchange of its request.</param>
    /// <param name="connection">Its connection.</param>
    /// <param name="transport">The connection's parts.</param>
    public async ValueTask ServeAsync(Http1Exchange exchange, Http1Connection connection, VisitorTransport transport)
    {
        exchange.ForgetLast();
        var request = exchange.ReadUplinkRequest();
        var isTrusted = request.WasForwarded && _settings.TrustedProxies.Contains(transport.Remote?.Address);
        var address = isTrusted && request.ForwardedFor is { } visitor ? visitor : transport.Remote?.Address;
        var name = isTrusted ? $"{address} (WebSocket)" : $"{transport.Remote} (WebSocket)";
        var error = Judge(request, transport, isTrusted);
        var limit = _limits.Handshakes.Limit;
        ConnectionPlace place = default;
        if (error is null && (!limit.IsOpen || !limit.TryEnter(address, out place)))
        {
            // The oldest handshakes make room; the agent comes again.
            limit.Full?.Invoke();
            error = ProxyError.UplinkBusy;
        }

        if (error is { } refused)
        {
            ProxyEntryLog.WebSocketUplinkRefused(_logger, name, ProxyErrorCatalog.Get(refused).Code);
            await exchange.WriteErrorAsync(refused, default).ConfigureAwait(false);
            return;
        }

        HandshakeQueue.PendingHandshake? handshake = null;
        try
        {
            var upgraded = await exchange.SwitchAsync(Answer(request.Key!)).ConfigureAwait(false);
            transport.Loop?.LimitUnreadBytes();
            var bytes = new UpgradedUplink(connection, transport, upgraded, name);

            // It is not a visitor any more: a drain ends it with the sessions.
            _connections.Visitors.Ended(transport.Connection!);
            handshake = _limits.Handshakes.Add(bytes, place);
            var peer = new UplinkPeer(
                address, Connected: _timeProvider.GetTimestamp(), Handshake: handshake, NeedsToken: NeedsToken(request, transport));
            var webSocket = new WebSocketTransport(bytes, isClient: false, timeProvider: _timeProvider);
            await _acceptor.ServeAsync(webSocket, peer, transport.Stopping).ConfigureAwait(false);
        }
        catch (IOException)
        {
            // The agent left while it was refused.
        }
        catch (Exception exception)
        {
            // A fault of ours with one agent's connection; the others continue.
            ProxyEntryLog.UplinkFault(_logger, exception);
        }
        finally
        {
            if (handshake is null)
            {
                limit.Leave(place);
            }
            else
            {
                handshake.Finish();
            }
        }
    }

    private ProxyError? Judge(UplinkRequest request, VisitorTransport transport, bool isTrusted)
    {
        if (request.Key is null)
        {
            return ProxyError.UplinkHandshake;
        }

        // A web page in a visitor's browser could reach servers that its author cannot.
        if (request.HasOrigin)
        {
            return ProxyError.UplinkRefused;
        }

        var isSafe = transport.IsTls
            || _settings.PlaintextAgentsAllowed
            || (isTrusted ? request.ForwardedProto is "https" or "wss" : IsLoopback(transport.Remote));
        return isSafe ? null : ProxyError.UplinkNeedsTls;
    }

    /// <summary>
    /// Agents may do without a token where the uplink's port is on loopback. A public listener is for everyone, also by way of a proxy on
    /// this machine: so here the agent itself must be on this machine, and the server must be one that serves this machine alone.
    /// </summary>
    private bool NeedsToken(UplinkRequest request, VisitorTransport transport)
    {
        if (_settings.AnonymousAgentsAllowedAnywhere)
        {
            return false;
        }

        var isOnlyHere = _settings.Domain == "localhost" || _settings.Domain.EndsWith(".localhost", StringComparison.Ordinal);
        return !isOnlyHere
            || request.WasForwarded
            || !request.NamesThisMachine()
            || !IsLoopback(transport.Remote)
            || !IsLoopback(transport.Local);
    }

    private static bool IsLoopback(IPEndPoint? endPoint) => endPoint is not null && IPAddress.IsLoopback(endPoint.Address);

    private static byte[] Answer(string key) =>
    [
        .. "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: "u8,
        .. WebSocketBinding.Subprotocol,
        .. "\r\nSec-WebSocket-Accept: "u8,
        .. Encoding.ASCII.GetBytes(WebSocketKey.Accept(key)),
        .. "\r\n\r\n"u8,
    ];
}
