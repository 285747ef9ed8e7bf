using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Opens connections to the one backend of the agent's options; nothing from the wire ever chooses where to. Thread-safe.
/// </summary>
internal sealed class BackendConnector
{
    /// <summary>The limit while ProxyEntry has not said another.</summary>
    public static readonly TimeSpan DefaultTimeout = TimeSpan.FromSeconds(10);

    private readonly BackendTarget _target;
    private readonly BufferPool _buffers;
    private readonly EpollLoop? _loop;
    private readonly TimeProvider _timeProvider;
    private readonly IPAddress? _literal;
    private IPEndPoint? _lastGood;

    /// <summary>Makes a connector.</summary>
    /// <param name="target">Where to.</param>
    /// <param name="buffers">Where connections rent their buffers.</param>
    /// <param name="loop">The event loop of connections that are asked for on none, or null for sockets of the runtime.</param>
    /// <param name="slots">How many connections there may be; null: any number.</param>
    /// <param name="timeProvider">The clock; null: the system's.</param>
    public BackendConnector(
        BackendTarget target, BufferPool buffers, EpollLoop? loop = null, TunnelSlots? slots = null, TimeProvider? timeProvider = null)
    {
        _timeProvider = timeProvider ?? TimeProvider.System;
        Slots = slots ?? TunnelSlots.Unlimited();
        _loop = loop;
        _target = target;
        _buffers = buffers;
        _literal = IPAddress.TryParse(target.Host, out var address) ? address : null;
    }

    /// <summary>How long an attempt may take; ProxyEntry's settings say so in the handshake.</summary>
    public TimeSpan Timeout { get; set; } = DefaultTimeout;

    /// <summary>How many connections there may be.</summary>
    public TunnelSlots Slots { get; }

    /// <summary>
    /// Called with how each attempt ended; may be null. Not for attempts that were given up, nor for what failed on this side.
    /// </summary>
    public Action<BackendFailure>? Observer { get; set; }

    /// <summary>Called when a request has to wait for a slot, or finds no descriptor; may be null.</summary>
    public Action<StreamResetDetail>? OnShortage { get; set; }

    /// <summary>Connects to an address in another way than by a socket; null: by a socket.</summary>
    public Func<IPEndPoint, CancellationToken, ValueTask<(IByteTransport? Transport, SocketError Error)>>? Dial { get; set; }

    /// <summary>Connects, in turn where there may be no more connections. Waiting and connecting together have one limit.</summary>
    /// <param name="pool">Whose kept connection would do as well; null: it has to be a new one.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <param name="loop">The event loop that it is to live on; null: the connector's own. A kept one of another loop moves there.</param>
    /// <returns>A connection, or why there is none.</returns>
    public async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(
        BackendPool? pool, CancellationToken cancellationToken, EpollLoop? loop = null)
    {
        using var deadline = new CancellationTokenSource(Timeout, _timeProvider);
        using var giveUp = cancellationToken.UnsafeRegister(static deadline => ((CancellationTokenSource)deadline!).Cancel(), deadline);
        var shortage = StreamResetDetail.None;
        OpenedTransport result;
        long begun;
        do
        {
            var slot = Slots.TakeAsync(pool, deadline.Token);
            if (!slot.IsCompleted)
            {
                Report(StreamResetDetail.TooManyConnections, ref shortage);
            }

            try
            {
                if (await slot.ConfigureAwait(false) is { } kept)
                {
                    if (loop is not null)
                    {
                        kept.MoveTo(loop);
                    }

                    return (kept, BackendFailure.None);
                }
            }
            catch (OperationCanceledException)
            {
                return (null, BackendFailure.Connect(shortage));
            }

            begun = _timeProvider.GetTimestamp();
            result = await OpenInSlotAsync(pool, null, loop, deadline.Token).ConfigureAwait(false);
        }
        while (WaitsForOthers(result, ref shortage));

        if (!cancellationToken.IsCancellationRequested && !result.Failure.IsOfThisSide)
        {
            Observer?.Invoke(result.Failure);
        }

        return (
            result.Transport is null ? null : new BackendConnection(result.Transport, _buffers, Slots) { Begun = begun }, result.Failure);
    }

    /// <summary>Connects for HTTP/2. The connection has a slot, which its user gives back (<see cref="Slots"/>).</summary>
    /// <param name="offers">What a TLS handshake offers.</param>
    /// <param name="loop">The event loop that it is to live on; null: the connector's own.</param>
    /// <param name="holder">Who asks.</param>
    /// <param name="isWanted">
    /// Whether it is still wanted after a wait for a slot; otherwise there is neither a connection nor a failure.
    /// </param>
    public async ValueTask<OpenedTransport> OpenTransportAsync(
        List<SslApplicationProtocol> offers, EpollLoop? loop, ISlotHolder holder, Func<bool> isWanted)
    {
        using var deadline = new CancellationTokenSource(Timeout, _timeProvider);
        var shortage = StreamResetDetail.None;
        OpenedTransport result;
        do
        {
            var slot = Slots.TakeAsync(null, deadline.Token, holder);
            var waits = !slot.IsCompleted;
            if (waits)
            {
                Report(StreamResetDetail.TooManyConnections, ref shortage);
            }

            try
            {
                await slot.ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return new OpenedTransport(null, BackendFailure.Connect(shortage));
            }

            if (waits && !isWanted())
            {
                // A connection that there was has served those who waited: another's request may want the slot.
                Slots.Release();
                return new OpenedTransport(null, BackendFailure.None);
            }

            result = await OpenInSlotAsync(null, offers, loop, deadline.Token).ConfigureAwait(false);
        }
        while (WaitsForOthers(result, ref shortage));

        if (!result.Failure.IsOfThisSide)
        {
            Observer?.Invoke(result.Failure);
        }

        return result;
    }

    /// <summary>A plain connection for a probe of what listens there; null where there is none.</summary>
    public async ValueTask<IByteTransport?> OpenAsync(CancellationToken cancellationToken) =>
        (await OpenAsync(_loop, cancellationToken).ConfigureAwait(false)).Transport;

    /// <summary>Opens a connection in a slot that was taken; without one the slot is given back.</summary>
    private async ValueTask<OpenedTransport> OpenInSlotAsync(
        BackendPool? pool, List<SslApplicationProtocol>? offers, EpollLoop? loop, CancellationToken deadline)
    {
        var result = await TryConnectAsync(offers, loop ?? _loop, deadline).ConfigureAwait(false);
        if (result.Failure.Detail == StreamResetDetail.NoDescriptors && Slots.TryMakeRoom(pool))
        {
            result = await TryConnectAsync(offers, loop ?? _loop, deadline).ConfigureAwait(false);
        }

        if (result.Transport is not null)
        {
            Slots.All.FoundDescriptor();
            return result;
        }

        if (result.Failure.Detail == StreamResetDetail.NoDescriptors)
        {
            return result with { HasOthers = Slots.ReleaseWithoutDescriptor() };
        }

        Slots.Release();
        return result;
    }

    /// <summary>Whether a request without a descriptor waits for a connection that there is, since all were in use a moment ago.</summary>
    private bool WaitsForOthers(OpenedTransport result, ref StreamResetDetail shortage)
    {
        if (result.Transport is null && result.Failure.Detail == StreamResetDetail.NoDescriptors)
        {
            Report(StreamResetDetail.NoDescriptors, ref shortage);
        }

        return result.HasOthers;
    }

    /// <summary>Reports once for each request what it lacks.</summary>
    private void Report(StreamResetDetail detail, ref StreamResetDetail shortage)
    {
        if (shortage == StreamResetDetail.None)
        {
            OnShortage?.Invoke(detail);
        }

        if (shortage != StreamResetDetail.NoDescriptors)
        {
            shortage = detail;
        }
    }

    private async ValueTask<OpenedTransport> TryConnectAsync(
        List<SslApplicationProtocol>? offers, EpollLoop? loop, CancellationToken deadline)
    {
        if (_target.InProcess is null && OpenFiles.AreAlmostUsedUp())
        {
            return new OpenedTransport(null, BackendFailure.Connect(StreamResetDetail.NoDescriptors));
        }

        try
        {
            var opening = await OpenAsync(loop, deadline).ConfigureAwait(false);
            return opening.Transport is null ? new OpenedTransport(null, BackendFailure.FromConnect(opening.Error))
                : _target.IsHttps ? await EncryptAsync(opening.Transport, opening.Address, offers, deadline).ConfigureAwait(false)
                : new OpenedTransport(opening.Transport, BackendFailure.None);
        }
        catch (OperationCanceledException)
        {
            return new OpenedTransport(null, BackendFailure.Connect(StreamResetDetail.ConnectTimeout));
        }
        catch (SocketException exception)
        {
            return new OpenedTransport(null, BackendFailure.FromConnect(exception.SocketErrorCode));
        }
    }

    [SuppressMessage(
        "Security",
        "CA5359",
        Justification = "Loopback only: development servers make their own certificates, and nothing is between a machine and itself.")]
    private async ValueTask<OpenedTransport> EncryptAsync(
        IByteTransport transport, IPAddress? address, List<SslApplicationProtocol>? offers, CancellationToken deadline)
    {
        var trustsAny = address is not null && IPAddress.IsLoopback(address);
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = _target.Host,
            ApplicationProtocols = offers,
            RemoteCertificateValidationCallback = (_, _, _, errors) => trustsAny || errors == SslPolicyErrors.None,
        };
        var result = await TlsHandshake.ConnectAsync(transport, options, deadline).ConfigureAwait(false);
        if (result.Transport is not null && !deadline.IsCancellationRequested)
        {
            return new OpenedTransport(result.Transport, BackendFailure.None) { Protocol = result.Transport.ApplicationProtocol };
        }

        await ((IByteTransport?)result.Transport ?? transport).DisposeAsync().ConfigureAwait(false);
        return new OpenedTransport(null, BackendFailure.Connect(
            deadline.IsCancellationRequested ? StreamResetDetail.ConnectTimeout
            : result.Status == TlsHandshakeStatus.NotTls ? StreamResetDetail.NotTls
            : StreamResetDetail.TlsFailed));
    }

    /// <summary>Connects to one of the backend's addresses.</summary>
    private async ValueTask<Opening> OpenAsync(EpollLoop? loop, CancellationToken cancellationToken)
    {
        if (_target.InProcess is { } service)
        {
            return service.TryConnect(loop) is { } connection
                ? new Opening(connection, null, SocketError.Success)
                : new Opening(null, null, SocketError.ConnectionRefused);
        }

        if (_target.SocketPath is { } path)
        {
            return await OpenSocketAsync(loop, path, cancellationToken).ConfigureAwait(false);
        }

        if (_target.PipeName is { } pipe)
        {
            var (transport, error) = await PipeDialer.ConnectAsync(pipe, _timeProvider, cancellationToken).ConfigureAwait(false);
            return new Opening(transport, null, error);
        }

        if (_target.TriesIPv6Loopback)
        {
            return await OpenToLoopbackAsync(loop, cancellationToken).ConfigureAwait(false);
        }

        if (_literal is not null)
        {
            return await OpenAsync(loop, new IPEndPoint(_literal, _target.Port), cancellationToken).ConfigureAwait(false);
        }

        if (_lastGood is { } lastGood)
        {
            var opening = await OpenWithinAsync(loop, lastGood, Timeout / 2, cancellationToken).ConfigureAwait(false);
            if (opening.Transport is not null)
            {
                return opening;
            }
        }

        // "localhost" may mean ::1, 127.0.0.1 or both, and a development server often listens on one only: each address is tried.
        var addresses = await Dns.GetHostAddressesAsync(_target.Host, cancellationToken).ConfigureAwait(false);
        return await OpenOneOfAsync(loop, addresses, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>
    /// Tries a host's addresses in turn. One that does not answer has an equal share of the time, so that the others are tried too.
    /// </summary>
    internal async ValueTask<Opening> OpenOneOfAsync(
        EpollLoop? loop, IReadOnlyList<IPAddress> addresses, CancellationToken cancellationToken)
    {
        var last = new Opening(null, null, SocketError.HostNotFound);
        for (var i = 0; i < addresses.Count; i++)
        {
            var endPoint = new IPEndPoint(addresses[i], _target.Port);
            last = i == addresses.Count - 1
                ? await OpenAsync(loop, endPoint, cancellationToken).ConfigureAwait(false)
                : await OpenWithinAsync(loop, endPoint, Timeout / addresses.Count, cancellationToken).ConfigureAwait(false);
            if (last.Transport is not null)
            {
                _lastGood = endPoint;
                break;
            }
        }

        return last;
    }

    private async ValueTask<Opening> OpenWithinAsync(
        EpollLoop? loop, IPEndPoint endPoint, TimeSpan limit, CancellationToken cancellationToken)
    {
        using var share = new CancellationTokenSource(limit, _timeProvider);
        using var giveUp = cancellationToken.UnsafeRegister(static share => ((CancellationTokenSource)share!).Cancel(), share);
        try
        {
            return await OpenAsync(loop, endPoint, share.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return new Opening(null, null, SocketError.TimedOut);
        }
    }

    /// <summary>Connects to a Unix socket. A path where nothing is counts as one where nothing listens.</summary>
    private static async ValueTask<Opening> OpenSocketAsync(EpollLoop? loop, string path, CancellationToken cancellationToken)
    {
        if (loop is not null)
        {
            var (channel, failure) = await EpollConnector.ConnectAsync(loop, path, cancellationToken).ConfigureAwait(false);
            if (channel is not null)
            {
                channel.TakesTurns = true;
            }

            return new Opening(channel, null, failure);
        }

        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellationToken).ConfigureAwait(false);
            return new Opening(new SocketTransport(socket, isUplink: false), null, SocketError.Success);
        }
        catch (SocketException exception)
        {
            socket.Dispose();
            return new Opening(
                null, null, File.Exists(path) ? exception.SocketErrorCode : SocketError.ConnectionRefused);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>The loopback address that worked last, 127.0.0.1 at first, and then the other.</summary>
    private async ValueTask<Opening> OpenToLoopbackAsync(EpollLoop? loop, CancellationToken cancellationToken)
    {
        var ipv4 = new IPEndPoint(IPAddress.Loopback, _target.Port);
        var first = _lastGood ?? ipv4;
        var opening = await OpenAsync(loop, first, cancellationToken).ConfigureAwait(false);
        if (opening.Error != SocketError.ConnectionRefused)
        {
            return opening;
        }

        var other = first.AddressFamily == AddressFamily.InterNetworkV6 ? ipv4 : new IPEndPoint(IPAddress.IPv6Loopback, _target.Port);
        var second = await OpenAsync(loop, other, cancellationToken).ConfigureAwait(false);
        if (second.Transport is null)
        {
            // The user did not ask for ::1, and the machine may not even have it: the first failure is the one to report.
            return opening;
        }

        _lastGood = other;
        return second;
    }

    private async ValueTask<Opening> OpenAsync(EpollLoop? loop, IPEndPoint endPoint, CancellationToken cancellationToken)
    {
        if (Dial is { } dial)
        {
            var (transport, error) = await dial(endPoint, cancellationToken).ConfigureAwait(false);
            return new Opening(transport, endPoint.Address, error);
        }

        if (loop is not null)
        {
            var (channel, failure) = await EpollConnector.ConnectAsync(loop, endPoint, cancellationToken).ConfigureAwait(false);
            if (channel is not null)
            {
                // A service may send without an end, and faster than the loop serves the others.
                channel.TakesTurns = true;
            }

            return new Opening(channel, endPoint.Address, failure);
        }

        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.NoDelay = true;
            SilentPeers.AskOn(socket);
            await socket.ConnectAsync(endPoint, cancellationToken).ConfigureAwait(false);
            return new Opening(new SocketTransport(socket, isUplink: false), endPoint.Address, SocketError.Success);
        }
        catch (SocketException exception)
        {
            socket.Dispose();
            return new Opening(null, null, exception.SocketErrorCode);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>How an attempt to connect ended.</summary>
    /// <param name="Transport">The connection, or null.</param>
    /// <param name="Address">Its other end.</param>
    /// <param name="Error">Why there is none.</param>
    internal readonly record struct Opening(IByteTransport? Transport, IPAddress? Address, SocketError Error);
}
