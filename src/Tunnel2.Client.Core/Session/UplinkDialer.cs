using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session.Tls;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Session;

/// <summary>Connects to the server, encrypted where the options say so. Every uplink of an agent comes from here. Thread-safe.</summary>
internal sealed class UplinkDialer
{
    private static readonly TimeSpan _connectTimeout = TimeSpan.FromSeconds(10);

    private readonly AgentOptions _options;
    private readonly IEngine _engine;
    private readonly UplinkLoops _loops;
    private readonly IdleConnections _tunnel;
    private readonly UplinkTlsClient? _tls;
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
        _tls = options.Tls is { } tls ? new UplinkTlsClient(options.Server, tls, timeProvider) : null;
    }

    /// <summary>Connects in another way than by a socket; null: by a socket.</summary>
    public Func<CancellationToken, Task<(IUplinkTransport Transport, IPAddress? Peer)>>? Connect { get; init; }

    /// <summary>Connects.</summary>
    /// <param name="joins">Whether the uplink joins others of its session.</param>
    /// <param name="stop">Gives up.</param>
    /// <returns>A transport that is ready for the first frame, or why there is none.</returns>
    public async Task<(IUplinkTransport? Transport, ConnectionEnd? End)> DialAsync(bool joins, CancellationToken stop)
    {
        IUplinkTransport transport;
        IPAddress? peer;
        try
        {
            using var limit = new CancellationTokenSource(_connectTimeout, _timeProvider);
            using var deadline = CancellationTokenSource.CreateLinkedTokenSource(stop, limit.Token);
            (transport, peer) = Connect is { } connect ? await connect(deadline.Token).ConfigureAwait(false)
                : _loops.Take(_tunnel, joins) is { } place
                ? await ConnectOnLoopAsync(place, deadline.Token).ConfigureAwait(false)
                : await ConnectSocketAsync(deadline.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            return (
                null,
                stop.IsCancellationRequested
                    ? ConnectionEnd.Stopped(TimeSpan.Zero)
                    : ConnectionEnd.Unreachable(ConnectFailure.From(_options.Server, exception)));
        }

        var leaksToken = WouldLeakToken(peer);
        if (_tls is null)
        {
            if (!leaksToken)
            {
                return (transport, null);
            }

            await transport.DisposeAsync().ConfigureAwait(false);
            return (null, ConnectionEnd.RejectedPermanently(new Rejection(
                RejectionReason.Other,
                "token-in-plaintext",
                "the token would leave this machine unencrypted; TUNNEL2_ALLOW_PLAINTEXT=1 permits it on a network that is private by "
                    + "itself")));
        }

        var (encrypted, failure) = await _tls.OpenAsync(transport, stop).ConfigureAwait(false);
        if (encrypted is not null)
        {
            return (encrypted, null);
        }

        await transport.DisposeAsync().ConfigureAwait(false);
        return (null, stop.IsCancellationRequested ? ConnectionEnd.Stopped(TimeSpan.Zero) : ConnectionEnd.Unreachable(failure!));
    }

    /// <summary>
    /// Connects on the loop that the connection will live on. A socket of the runtime that was connected asynchronously would stay known to
    /// the runtime's own socket engine: it would be woken for every frame as well.
    /// </summary>
    private async Task<(IUplinkTransport Transport, IPAddress? Peer)> ConnectOnLoopAsync(
        UplinkLoops.UplinkPlace place, CancellationToken cancellationToken)
    {
        var error = SocketError.HostNotFound;
        try
        {
            foreach (var address in await Dns.GetHostAddressesAsync(_options.Server.Host, cancellationToken).ConfigureAwait(false))
            {
                var endPoint = new IPEndPoint(address, _options.Server.Port);
                (var channel, error) = await EpollConnector.ConnectAsync(place.Loop, endPoint, cancellationToken).ConfigureAwait(false);
                if (channel is not null)
                {
                    channel.Place = place;
                    return (channel.AsUplink(endPoint), address);
                }
            }

            throw new SocketException((int)error);
        }
        catch
        {
            place.Dispose();
            throw;
        }
    }

    private async Task<(IUplinkTransport Transport, IPAddress? Peer)> ConnectSocketAsync(CancellationToken cancellationToken)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await socket.ConnectAsync(_options.Server.Host, _options.Server.Port, cancellationToken).ConfigureAwait(false);
            var peer = (socket.RemoteEndPoint as IPEndPoint)?.Address;
            return (_engine.CreateUplinkTransport(socket), peer);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>The uplink is not encrypted: a listener on the way could read the token and be us.</summary>
    private bool WouldLeakToken(IPAddress? peer) =>
        _options.Token is not null && !_options.AllowPlaintextToken && peer is not null && !IPAddress.IsLoopback(peer);
}
