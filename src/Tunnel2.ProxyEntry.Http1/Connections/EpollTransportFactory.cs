using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Options;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Kestrel's listeners on the engine's event loop (docs/decisions/0007-own-epoll-transport.md). Registered only if the engine has loops.
/// The socket transport's settings bind the listeners, so both report the same about an address that is not available.
/// </summary>
internal sealed class EpollTransportFactory : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly IReadOnlyList<EpollLoop> _loops;
    private readonly SocketTransportOptions _options;
    private readonly IMemoryPoolFactory<byte> _memoryPools;
    private readonly SocketListenerFactory _sockets;
    private readonly ConnectionLimits _limits;
    private readonly EndPoint _admin;
    private readonly EndPoint? _direct;
    private readonly IConnectionFront _front;
    private readonly ConnectionTracker _visitors;
    private readonly BalancerHeaders _balancers;

    public EpollTransportFactory(
        IEngine engine,
        ProxyEntrySettings settings,
        IOptions<SocketTransportOptions> options,
        IMemoryPoolFactory<byte> memoryPools,
        IConnectionFront front,
        ListenerConnections connections,
        ConnectionLimits limits,
        BalancerHeaders balancers,
        SocketListenerFactory sockets)
    {
        _balancers = balancers;
        _loops = engine.Loops;
        _options = options.Value;
        _memoryPools = memoryPools;
        _limits = limits;
        _sockets = sockets;
        _admin = settings.AdminListen;
        _direct = settings.HttpListen;
        _front = front;
        _visitors = connections.Visitors;
    }

    /// <inheritdoc/>
    public bool CanBind(EndPoint endpoint) => endpoint is IPEndPoint;

    /// <inheritdoc/>
    public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        if (ReferenceEquals(endpoint, _admin))
        {
            // The admin listener stays on the pool: the live view writes to its subscribers' sockets itself, and an operator's request must
            // not depend on a loop.
            return _sockets.BindAsync(endpoint, cancellationToken);
        }

        try
        {
            var bound = _options.CreateBoundListenSocket(endpoint);
            return new ValueTask<IConnectionListener>(
                new EpollConnectionListener(
                    _loops, bound, _options.Backlog, _memoryPools.Create(), _limits.Visitors, _limits.AcceptFailed,
                    ReferenceEquals(endpoint, _direct) ? ServeAsync : null));
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AddressAlreadyInUse)
        {
            throw new AddressInUseException(exception.Message, exception);
        }
        catch (SocketException exception)
        {
            throw new IOException($"Failed to listen on {endpoint} with {_loops.Count} event loops: {exception.Message}", exception);
        }
    }

    /// <summary>A visitor without TLS: our front serves the connection directly. Kestrel serves HTTP/2, and tracks it itself.</summary>
    private async Task<bool> ServeAsync(EpollConnectionContext connection)
    {
        _visitors.Opened(connection);
        try
        {
            if (_balancers.IsExpectedOf(connection) && !await _balancers.TryTakeAsync(connection).ConfigureAwait(false))
            {
                return true;
            }

            return await _front.ServeAsync(connection, _visitors.Closing).ConfigureAwait(false);
        }
        finally
        {
            _visitors.Ended(connection);
        }
    }
}
