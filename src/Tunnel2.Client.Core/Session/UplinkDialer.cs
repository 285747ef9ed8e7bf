using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session.Tls;
using Tunnel2.Client.Core.Ways;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// Connects to the server, by way of a proxy, encrypted and over WebSocket where the options say so. Every uplink of an agent comes from
/// here. Thread-safe.
/// </summary>
internal sealed class UplinkDialer
{
    private static readonly TimeSpan _connectTimeout = TimeSpan.FromSeconds(10);

    /// <summary>The same where another way is tried next: long enough for two lost packets.</summary>
    private static readonly TimeSpan _shortConnectTimeout = TimeSpan.FromSeconds(5);

    private readonly AgentOptions _options;
    private readonly IEngine _engine;
    private readonly UplinkLoops _loops;
    private readonly IdleConnections _tunnel;
    private readonly UplinkTlsClient? _tls;
    private readonly UplinkTlsClient? _webSocketTls;
    private readonly TimeProvider _timeProvider;

    /// <summary>Makes the dialer of a tunnel.</summary>
    /// <param name="options">Where to, and how.</param>
    /// <param name="engine">What carries uplinks.</param>
    /// <param name="loops">Says which loop each lives on.</param>
    /// <param name="tunnel">The tunnel's idle connections to its backend, which live on the loops of its uplinks.</param>
    /// <param name="timeProvider">Time.</param>
    public UplinkDialer(AgentOptions options, IEngine engine, UplinkLoops loops, IdleConnections tunnel, TimeProvider timeProvider)
    {
        _loops = loops;
        _tunnel = tunnel;
        _options = options;
        _engine = engine;
        _timeProvider = timeProvider;
        if (options.Tls is { } tls)
        {
            _tls = new UplinkTlsClient(options.Server, tls, timeProvider);
            _webSocketTls = new UplinkTlsClient(options.WebSocketServer, tls, timeProvider, isHttp: true);
        }
    }

    /// <summary>Connects in another way than by a socket; null: by a socket.</summary>
    public Func<CancellationToken, Task<(IUplinkTransport Transport, IPAddress? Peer)>>? Connect { get; init; }

    /// <summary>Connects to the uplink's own port.</summary>
    /// <param name="joins">Whether the uplink joins others of its session.</param>
    /// <param name="stop">Gives up.</param>
    /// <returns>A transport that is ready for the first frame, or why there is none.</returns>
    public Task<(IUplinkTransport? Transport, ConnectionEnd? End)> DialAsync(bool joins, CancellationToken stop) =>
        DialAsync(UplinkWay.Direct, joins, hasOtherWay: false, stop);

    /// <summary>Connects.</summary>
    /// <param name="way">Direct or over WebSocket.</param>
    /// <param name="joins">Whether the uplink joins others of its session.</param>
    /// <param name="hasOtherWay">Whether another way is tried next, so that this one should not take long.</param>
    /// <param name="stop">Gives up.</param>
    /// <returns>A transport that is ready for the first frame, or why there is none.</returns>
    public async Task<(IUplinkTransport? Transport, ConnectionEnd? End)> DialAsync(
        UplinkWay way, bool joins, bool hasOtherWay, CancellationToken stop)
    {
        var server = _options.ServerOn(way);
        IUplinkTransport transport;
        bool leaves;
        using (var limit = new CancellationTokenSource(hasOtherWay ? _shortConnectTimeout : _connectTimeout, _timeProvider))
        using (var deadline = CancellationTokenSource.CreateLinkedTokenSource(stop, limit.Token))
        {
            var (connected, peer, failure) = await ReachAsync(server, way, joins, deadline.Token).ConfigureAwait(false);
            if (connected is null)
            {
                return (null, EndOf(failure!, stop));
            }

            transport = connected;

            // Where a proxy connects is not known, and the proxy sees every byte.
            leaves = _options.Proxy is not null || (peer is not null && !IPAddress.IsLoopback(peer));
        }

        var secret = _options.Token is not null ? "token" : _options.Access?.Webhook is not null ? "secret of the webhooks" : null;
        if (_tls is null && leaves && secret is not null && !_options.AllowPlaintextToken)
        {
            await transport.DisposeAsync().ConfigureAwait(false);
            return (null, ConnectionEnd.RejectedPermanently(new Rejection(
                RejectionReason.Other,
                "token-in-plaintext",
                $"the {secret} would leave this machine unencrypted; TUNNEL2_ALLOW_PLAINTEXT=1 permits it on a network that is private by "
                    + "itself")));
        }

        if ((way == UplinkWay.WebSocket ? _webSocketTls : _tls) is { } tls)
        {
            var (encrypted, failure) = await tls.OpenAsync(transport, stop).ConfigureAwait(false);
            if (encrypted is null)
            {
                await transport.DisposeAsync().ConfigureAwait(false);
                return (null, EndOf(failure!, stop));
            }

            transport = encrypted;
        }

        if (way != UplinkWay.WebSocket)
        {
            return (transport, null);
        }

        var (webSocket, refusal) = await OpenWebSocketAsync(transport, server, stop).ConfigureAwait(false);
        if (webSocket is null)
        {
            await transport.DisposeAsync().ConfigureAwait(false);
            return (null, EndOf(refusal!, stop));
        }

        return (webSocket, null);
    }

    private static ConnectionEnd EndOf(ConnectFailure failure, CancellationToken stop) =>
        stop.IsCancellationRequested ? ConnectionEnd.Stopped(TimeSpan.Zero) : ConnectionEnd.Unreachable(failure);

    /// <summary>Connects to the server, by way of the proxy where there is one.</summary>
    private async Task<(IUplinkTransport? Transport, IPAddress? Peer, ConnectFailure? Failure)> ReachAsync(
        ServerEndpoint server, UplinkWay way, bool joins, CancellationToken deadline)
    {
        var proxy = _options.Proxy;
        IUplinkTransport transport;
        IPAddress? peer;
        try
        {
            var endPoint = proxy?.EndPoint ?? server;
            (transport, peer) = Connect is { } connect ? await connect(deadline).ConfigureAwait(false)
                : _loops.Take(_tunnel, joins) is { } place ? await ConnectOnLoopAsync(endPoint, place, deadline).ConfigureAwait(false)
                : await ConnectSocketAsync(endPoint, deadline).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            return (null, null, proxy is null ? ConnectFailure.From(server, way, exception) : AtProxy(proxy, Words(exception)));
        }

        if (proxy is null)
        {
            return (transport, peer, null);
        }

        ConnectFailure? failure = null;
        using (deadline.UnsafeRegister(static state => ((IUplinkTransport)state!).Abort(), transport))
        {
            try
            {
                if (proxy.Kind == ProxyKind.Https)
                {
                    (var encrypted, failure) = await ProxyTlsClient.OpenAsync(
                        transport, proxy, server, way, _timeProvider, deadline).ConfigureAwait(false);
                    transport = encrypted ?? transport;
                }

                failure ??= proxy.Kind == ProxyKind.Socks5
                    ? await SocksProxy.OpenAsync(transport, proxy, server, way).ConfigureAwait(false)
                    : await HttpProxy.OpenAsync(transport, proxy, server, way).ConfigureAwait(false);
            }
            catch (IOException)
            {
                failure = ConnectFailure.AtProxy(
                    server,
                    way,
                    proxy,
                    ConnectFailureReason.ProxyFailed,
                    deadline.IsCancellationRequested ? "took the connection and did not answer in time" : "cut the connection");
            }
        }

        if (failure is null && !deadline.IsCancellationRequested)
        {
            return (transport, peer, null);
        }

        await transport.DisposeAsync().ConfigureAwait(false);
        return (null, null, failure ?? AtProxy(proxy, "no answer in time"));

        ConnectFailure AtProxy(ProxyAddress address, string detail) =>
            ConnectFailure.AtProxy(server, way, address, ConnectFailureReason.ProxyUnreachable, $"cannot be reached ({detail})");
    }

    private static string Words(Exception exception) => exception is not SocketException socket ? "no answer in time"
        : socket.SocketErrorCode is SocketError.HostNotFound or SocketError.TryAgain or SocketError.NoData ? "its name has no address"
        : socket.Message;

    private async Task<(IUplinkTransport? Transport, ConnectFailure? Failure)> OpenWebSocketAsync(
        IUplinkTransport transport, ServerEndpoint server, CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(ProtocolLimits.HandshakeTimeout, _timeProvider);
        using var deadline = CancellationTokenSource.CreateLinkedTokenSource(stop, limit.Token);
        using var registration = deadline.Token.UnsafeRegister(static state => ((IUplinkTransport)state!).Abort(), transport);
        try
        {
            return await WebSocketOpening.OpenAsync(
                transport, server, isTls: _webSocketTls is not null, _timeProvider).ConfigureAwait(false);
        }
        catch (IOException)
        {
            return (
                null,
                ConnectFailure.AtWebSocket(
                    server,
                    limit.IsCancellationRequested ? "no answer in time" : "the connection was cut before the answer was complete"));
        }
    }

    /// <summary>
    /// Connects on the loop that the connection will live on. A socket of the runtime that was connected asynchronously would stay known to
    /// the runtime's own socket engine: it would be woken for every frame as well.
    /// </summary>
    private async Task<(IUplinkTransport Transport, IPAddress? Peer)> ConnectOnLoopAsync(
        ServerEndpoint server, UplinkLoops.UplinkPlace place, CancellationToken cancellationToken)
    {
        try
        {
            var (channel, address) = await AddressRace.RunAsync(
                await ResolveAsync(server, cancellationToken).ConfigureAwait(false),
                async (address, over) =>
                {
                    var (channel, error) = await EpollConnector.ConnectAsync(
                        place.Loop, new IPEndPoint(address, server.Port), over).ConfigureAwait(false);
                    return channel ?? throw new SocketException((int)error);
                },
                _timeProvider,
                cancellationToken).ConfigureAwait(false);
            channel.Place = place;
            return (channel.AsUplink(new IPEndPoint(address, server.Port)), address);
        }
        catch
        {
            place.Dispose();
            throw;
        }
    }

    private async Task<(IUplinkTransport Transport, IPAddress? Peer)> ConnectSocketAsync(
        ServerEndpoint server, CancellationToken cancellationToken)
    {
        var (connected, address) = await AddressRace.RunAsync(
            await ResolveAsync(server, cancellationToken).ConfigureAwait(false),
            async (address, over) =>
            {
                var socket = new ConnectingSocket(address.AddressFamily);
                try
                {
                    await socket.Socket.ConnectAsync(new IPEndPoint(address, server.Port), over).ConfigureAwait(false);
                    return socket;
                }
                catch
                {
                    socket.Socket.Dispose();
                    throw;
                }
            },
            _timeProvider,
            cancellationToken).ConfigureAwait(false);
        return (_engine.CreateUplinkTransport(connected.Socket), address);
    }

    private async Task<IReadOnlyList<IPAddress>> ResolveAsync(ServerEndpoint server, CancellationToken cancellationToken)
    {
        var addresses = await Dns.GetHostAddressesAsync(server.Host, cancellationToken).ConfigureAwait(false);
        if (_options is not { AvoidsThisMachine: true, Proxy: null })
        {
            return AddressRace.Order(addresses);
        }

        var others = AddressRace.Order(addresses.Where(static address => !KnownNodes.IsOfThisMachine(address)));
        return others.Count > 0 || addresses.Length == 0
            ? others
            : throw new SocketException(
                (int)SocketError.AccessDenied, "it was announced, and leads to this machine or to no single machine");
    }

    /// <summary>A socket that connects, in the form of the race.</summary>
    private sealed class ConnectingSocket(AddressFamily family) : IAsyncDisposable
    {
        public Socket Socket { get; } = new(family, SocketType.Stream, ProtocolType.Tcp);

        public ValueTask DisposeAsync()
        {
            Socket.Dispose();
            return default;
        }
    }
}
