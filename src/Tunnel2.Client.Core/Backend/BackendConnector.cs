using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>Opens connections to the one backend that the agent was told; nothing from the wire ever chooses where to. Thread-safe.</summary>
internal sealed class BackendConnector
{
    /// <summary>The limit while ProxyEntry has not said another.</summary>
    public static readonly TimeSpan DefaultTimeout = TimeSpan.FromSeconds(10);

    private readonly BackendTarget _target;
    private readonly BufferPool _buffers;
    private readonly EpollLoop? _loop;
    private readonly IPAddress? _literal;
    private IPEndPoint? _lastGood;

    /// <summary>Makes a connector.</summary>
    /// <param name="target">Where to.</param>
    /// <param name="buffers">Where connections rent their buffers.</param>
    /// <param name="loop">The event loop that plain connections live on, or null for sockets of the runtime.</param>
    /// <param name="slots">How many connections there may be; null: any number.</param>
    public BackendConnector(BackendTarget target, BufferPool buffers, EpollLoop? loop = null, BackendSlots? slots = null)
    {
        Slots = slots ?? BackendSlots.Unlimited();
        _loop = target.IsHttps ? null : loop;
        _target = target;
        _buffers = buffers;
        _literal = IPAddress.TryParse(target.Host, out var address) ? address : null;
    }

    /// <summary>How long an attempt may take; ProxyEntry's settings say so in the handshake.</summary>
    public TimeSpan Timeout { get; set; } = DefaultTimeout;

    /// <summary>How many connections there may be.</summary>
    public BackendSlots Slots { get; }

    /// <summary>Told how each attempt ended; null: nobody is. Not told of attempts that were given up, nor of what failed on this side.</summary>
    public Action<BackendFailure>? Observer { get; set; }

    /// <summary>Told when somebody has to wait for a slot, or finds no descriptor; null: nobody is.</summary>
    public Action<StreamResetDetail>? OnShortage { get; set; }

    /// <summary>Connects, in turn where there may be no more connections. Waiting and connecting together have one limit.</summary>
    /// <param name="pool">Whose kept connection would do as well; null: it has to be a new one.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>A connection, or why there is none.</returns>
    public async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(BackendPool? pool, CancellationToken cancellationToken)
    {
        using var deadline = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        deadline.CancelAfter(Timeout);
        try
        {
            var slot = Slots.TakeAsync(pool, deadline.Token);
            if (!slot.IsCompleted)
            {
                OnShortage?.Invoke(StreamResetDetail.TooManyConnections);
            }

            if (await slot.ConfigureAwait(false) is { } kept)
            {
                return (kept, BackendFailure.None);
            }
        }
        catch (OperationCanceledException)
        {
            return (null, BackendFailure.Connect(StreamResetDetail.TooManyConnections));
        }

        var result = await TryConnectAsync(deadline.Token).ConfigureAwait(false);
        if (result.Failure.Detail == StreamResetDetail.NoDescriptors && Slots.TryMakeRoom(pool))
        {
            result = await TryConnectAsync(deadline.Token).ConfigureAwait(false);
        }

        if (result.Connection is null)
        {
            Slots.Release();
            if (result.Failure.Detail == StreamResetDetail.NoDescriptors)
            {
                OnShortage?.Invoke(StreamResetDetail.NoDescriptors);
            }
        }

        if (!cancellationToken.IsCancellationRequested && !result.Failure.IsOfThisSide)
        {
            Observer?.Invoke(result.Failure);
        }

        return result;
    }

    /// <summary>A plain connection for whoever wants to know what listens there; null where there is none. Only without a loop.</summary>
    public async ValueTask<Socket?> OpenSocketAsync(CancellationToken cancellationToken) =>
        (await ConnectAnyAsync(cancellationToken).ConfigureAwait(false)).Connected as Socket;

    [SuppressMessage(
        "Security", "CA5359", Justification = "Loopback only: development servers make their own certificates, and nobody stands between a machine and itself.")]
    private async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> TryConnectAsync(CancellationToken deadline)
    {
        Socket? socket = null;
        var hasCertificate = false;
        try
        {
            var (connected, error) = await ConnectAnyAsync(deadline).ConfigureAwait(false);
            if (connected is EpollChannel channel)
            {
                return (new BackendConnection(new EpollBackendTransport(channel), _buffers, Slots), BackendFailure.None);
            }

            socket = (Socket?)connected;
            if (socket is null)
            {
                return (null, BackendFailure.FromConnect(error));
            }

            if (!_target.IsHttps)
            {
                return (new BackendConnection(new SocketBackendTransport(socket), _buffers, Slots), BackendFailure.None);
            }

            var tls = new SslStream(new NetworkStream(socket, ownsSocket: true));
            var trustsAny = IsThisMachine(socket);
            var options = new SslClientAuthenticationOptions
            {
                TargetHost = _target.Host,
                RemoteCertificateValidationCallback = (_, _, _, errors) =>
                {
                    hasCertificate = true;
                    return trustsAny || errors == SslPolicyErrors.None;
                },
            };

            await tls.AuthenticateAsClientAsync(options, deadline).ConfigureAwait(false);
            return (new BackendConnection(new TlsBackendTransport(socket, tls), _buffers, Slots), BackendFailure.None);
        }
        catch (OperationCanceledException)
        {
            socket?.Dispose();
            return (null, BackendFailure.Connect(StreamResetDetail.ConnectTimeout));
        }
        catch (SocketException exception)
        {
            socket?.Dispose();
            return (null, BackendFailure.FromConnect(exception.SocketErrorCode));
        }
        catch (Exception exception) when (exception is AuthenticationException or IOException)
        {
            socket?.Dispose();

            // What TLS itself has against the peer comes with a cause; without one, the answer was no TLS at all.
            return (null, BackendFailure.Connect(exception is AuthenticationException { InnerException: null } && !hasCertificate ? StreamResetDetail.NotTls : StreamResetDetail.TlsFailed));
        }
    }

    /// <summary>Connects to one of the backend's addresses: a <see cref="Socket"/>, or an <see cref="EpollChannel"/> where there is a loop.</summary>
    private async ValueTask<(object? Connected, SocketError Error)> ConnectAnyAsync(CancellationToken cancellationToken)
    {
        if (_target.TriesIPv6Loopback)
        {
            return await ConnectToLoopbackAsync(cancellationToken).ConfigureAwait(false);
        }

        if (_literal is not null)
        {
            return await TryConnectAsync(new IPEndPoint(_literal, _target.Port), cancellationToken).ConfigureAwait(false);
        }

        if (_lastGood is { } lastGood)
        {
            var (connected, _) = await TryConnectAsync(lastGood, cancellationToken).ConfigureAwait(false);
            if (connected is not null)
            {
                return (connected, SocketError.Success);
            }
        }

        // "localhost" may mean ::1, 127.0.0.1 or both, and a development server often listens on one only: each address gets its try.
        var error = SocketError.HostNotFound;
        foreach (var address in await Dns.GetHostAddressesAsync(_target.Host, cancellationToken).ConfigureAwait(false))
        {
            var endPoint = new IPEndPoint(address, _target.Port);
            (var connected, error) = await TryConnectAsync(endPoint, cancellationToken).ConfigureAwait(false);
            if (connected is not null)
            {
                _lastGood = endPoint;
                return (connected, SocketError.Success);
            }
        }

        return (null, error);
    }

    /// <summary>The loopback address that worked last, 127.0.0.1 at first, and then the other.</summary>
    private async ValueTask<(object? Connected, SocketError Error)> ConnectToLoopbackAsync(CancellationToken cancellationToken)
    {
        var ipv4 = new IPEndPoint(IPAddress.Loopback, _target.Port);
        var first = _lastGood ?? ipv4;
        var (socket, error) = await TryConnectAsync(first, cancellationToken).ConfigureAwait(false);
        if (socket is not null || error != SocketError.ConnectionRefused)
        {
            return (socket, error);
        }

        var other = first.AddressFamily == AddressFamily.InterNetworkV6 ? ipv4 : new IPEndPoint(IPAddress.IPv6Loopback, _target.Port);
        (socket, _) = await TryConnectAsync(other, cancellationToken).ConfigureAwait(false);
        if (socket is not null)
        {
            _lastGood = other;
        }

        // What the machine says about ::1, which it may not even have, is nothing that a person asked for.
        return (socket, error);
    }

    private async ValueTask<(object? Connected, SocketError Error)> TryConnectAsync(IPEndPoint endPoint, CancellationToken cancellationToken)
    {
        if (_loop is not null)
        {
            return await EpollConnector.ConnectAsync(_loop, endPoint, cancellationToken).ConfigureAwait(false);
        }

        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.NoDelay = true;
            await socket.ConnectAsync(endPoint, cancellationToken).ConfigureAwait(false);
            return (socket, SocketError.Success);
        }
        catch (SocketException exception)
        {
            socket.Dispose();
            return (null, exception.SocketErrorCode);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static bool IsThisMachine(Socket socket) => socket.RemoteEndPoint is IPEndPoint { Address: var address } && IPAddress.IsLoopback(address);
}
