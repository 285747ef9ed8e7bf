using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Gives Kestrel connections over .NET's sockets, within a limit. Kestrel's own listener spins when no descriptor is left.
/// </summary>
internal sealed class SocketListener : IConnectionListener
{
    /// <summary>
    /// How long it empties the queue. The queue does not become empty while connections above the limit wait for a place.
    /// </summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan _look = TimeSpan.FromMilliseconds(10);

    private readonly Socket _socket;
    private readonly ConnectionLimit _limit;
    private readonly LimitedAcceptor _acceptor;
    private readonly SocketConnectionContextFactory _connections;
    private readonly bool _noDelay;
    private readonly bool _isShared;
    private readonly CancellationTokenSource _stopping = new();

    /// <summary>Starts to listen.</summary>
    /// <param name="bound">A bound socket; the listener owns it.</param>
    /// <param name="options">The options of its connections.</param>
    /// <param name="limit">The limit of connections.</param>
    /// <param name="failed">Called when descriptors or memory were short.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="logger">The log for Kestrel's connections.</param>
    public SocketListener(
        Socket bound, SocketTransportOptions options, ConnectionLimit limit, Action<SocketError> failed, TimeProvider timeProvider,
        ILogger logger)
    {
        _socket = bound;
        _limit = limit;
        _noDelay = options.NoDelay;
        _connections = new SocketConnectionContextFactory(
            new SocketConnectionFactoryOptions
            {
                IOQueueCount = options.IOQueueCount,
                MaxReadBufferSize = options.MaxReadBufferSize,
                MaxWriteBufferSize = options.MaxWriteBufferSize,
                UnsafePreferInlineScheduling = options.UnsafePreferInlineScheduling,
                WaitForDataBeforeAllocatingBuffer = options.WaitForDataBeforeAllocatingBuffer,
            },
            logger);

        _isShared = NewConnections.AreSharedBy(bound);
        bound.Listen(options.Backlog);
        EndPoint = bound.LocalEndPoint!;
        _acceptor = new LimitedAcceptor(bound, limit, failed, timeProvider);
    }

    /// <inheritdoc/>
    public EndPoint EndPoint { get; }

    /// <inheritdoc/>
    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        if (await _acceptor.AcceptAsync(_stopping.Token).ConfigureAwait(false) is not var (socket, place))
        {
            return null;
        }

        try
        {
            socket.NoDelay = _noDelay;
        }
        catch (SocketException)
        {
            // The peer has left; the code that reads notices it.
        }

        return new LimitedConnection(_connections.Create(socket), _limit, place);
    }

    /// <inheritdoc/>
    public async ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        if (!_isShared && !_stopping.IsCancellationRequested)
        {
            await EmptyAsync().ConfigureAwait(false);
        }

        await _stopping.CancelAsync().ConfigureAwait(false);
        _socket.Dispose();
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await UnbindAsync().ConfigureAwait(false);
        _connections.Dispose();
    }

    /// <summary>Lets Kestrel accept the connections in the kernel's queue: a close of the socket would reset them.</summary>
    private async Task EmptyAsync()
    {
        // In real time, because the wait is for the kernel.
        if (NewConnections.TryHold(_socket))
        {
            await Task.Delay(NewConnections.Handshakes).ConfigureAwait(false);
        }

        var began = Stopwatch.GetTimestamp();
        while (IsAnyoneWaiting() && Stopwatch.GetElapsedTime(began) < _patience)
        {
            await Task.Delay(_look).ConfigureAwait(false);
        }
    }

    private bool IsAnyoneWaiting()
    {
        try
        {
            return _socket.Poll(0, SelectMode.SelectRead);
        }
        catch (ObjectDisposedException)
        {
            return false;
        }
    }
}
