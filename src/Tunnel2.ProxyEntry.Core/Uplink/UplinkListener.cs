using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// Accepts agents' connections. It uses raw sockets instead of Kestrel's transport, because the uplink wants one large buffer that is
/// parsed in place. With Kestrel's 4 KiB blocks and inline continuations, bulk transfers had half the speed
/// (docs/decisions/0003-raw-sockets-under-the-uplink.md).
/// </summary>
internal sealed class UplinkListener : IAsyncDisposable
{
    private const int Backlog = 1024;

    private readonly Socket _listener;
    private readonly UplinkAcceptor _acceptor;
    private readonly UplinkTlsServer? _tls;
    private readonly IEngine _engine;
    private readonly HandshakeQueue _handshakes;
    private readonly LimitedAcceptor _accepting;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly CancellationTokenSource _stopping = new();
    private Task _loop = Task.CompletedTask;

    /// <param name="bound">A bound socket. The listener owns it, and disposes of it if the constructor fails.</param>
    /// <param name="acceptor">Serves accepted connections.</param>
    /// <param name="tls">Encrypts them; null for plaintext.</param>
    /// <param name="engine">The engine that moves their bytes.</param>
    /// <param name="handshakes">The connections in their handshake, and their limit.</param>
    /// <param name="failed">Called when descriptors or memory were short.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="logger">The log.</param>
    public UplinkListener(
        Socket bound,
        UplinkAcceptor acceptor,
        UplinkTlsServer? tls,
        IEngine engine,
        HandshakeQueue handshakes,
        Action<SocketError> failed,
        TimeProvider timeProvider,
        ILogger<UplinkListener> logger)
    {
        _handshakes = handshakes;
        _acceptor = acceptor;
        _tls = tls;
        _engine = engine;
        _timeProvider = timeProvider;
        _logger = logger;
        _listener = bound;
        try
        {
            _listener.Listen(Backlog);
        }
        catch
        {
            _listener.Dispose();
            throw;
        }

        _accepting = new LimitedAcceptor(_listener, _handshakes.Limit, failed, timeProvider);
    }

    /// <summary>Where it listens, with the port that the system chose if the settings had port 0.</summary>
    public IPEndPoint EndPoint => (IPEndPoint)_listener.LocalEndPoint!;

    /// <summary>Binds a socket of the process's own.</summary>
    /// <exception cref="SocketException">The address is not available.</exception>
    public static Socket Bind(IPEndPoint endPoint)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            if (endPoint.Address.Equals(IPAddress.IPv6Any))
            {
                socket.DualMode = true;
            }

            socket.Bind(endPoint);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public void Start() => _loop = AcceptAsync();

    /// <summary>Closes the listener; connected agents, and those in their handshake, stay.</summary>
    public void StopAccepting() => _listener.Dispose();

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync().ConfigureAwait(false);
        _listener.Dispose();
        await _loop.ConfigureAwait(false);
        _stopping.Dispose();
    }

    private async Task AcceptAsync()
    {
        while (await _accepting.AcceptAsync(_stopping.Token).ConfigureAwait(false) is var (socket, place))
        {
            _ = ServeAsync(socket, place);
        }
    }

    private async Task ServeAsync(Socket socket, ConnectionPlace place)
    {
        HandshakeQueue.PendingHandshake? handshake = null;
        try
        {
            if (!await _handshakes.WaitForTurnAsync(_stopping.Token).ConfigureAwait(false))
            {
                return;
            }

            var peer = UplinkPeer.Of(socket, _timeProvider.GetTimestamp());
            var transport = _engine.CreateUplinkTransport(socket);
            handshake = _handshakes.Add(transport, place);
            peer = peer with { Handshake = handshake };
            if (_tls is null)
            {
                await _acceptor.ServeAsync(transport, peer, _stopping.Token).ConfigureAwait(false);
            }
            else
            {
                await ServeTlsAsync(_tls, transport, peer).ConfigureAwait(false);
            }
        }
        catch (IOException)
        {
            // The peer left while the refusal was sent.
        }
        catch (Exception exception)
        {
            // A fault of ours with one agent's connection; the others continue.
            ProxyEntryLog.UplinkFault(_logger, exception);
        }
        finally
        {
            socket.Dispose();
            if (handshake is null)
            {
                _handshakes.Limit.Leave(place);
            }
            else
            {
                handshake.Finish();
            }
        }
    }

    private async Task ServeTlsAsync(UplinkTlsServer tls, IUplinkTransport transport, UplinkPeer connected)
    {
        await using (transport.ConfigureAwait(false))
        {
            var (encrypted, peer) = await tls.OpenAsync(transport, connected, _stopping.Token).ConfigureAwait(false);
            if (encrypted is not null)
            {
                await _acceptor.ServeAsync(encrypted, peer, _stopping.Token).ConfigureAwait(false);
            }
        }
    }
}
