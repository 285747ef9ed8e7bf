using System.Buffers;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// A public listener without Kestrel: on the event loops, or over .NET's sockets where there are none. Its connections count as those of
/// visitors. Thread-safe.
/// </summary>
internal sealed class RawListener : IDisposable
{
    private const string FaultPlace = "visitor's connection";
    private const int Backlog = 1024;

    /// <summary>Makes connections over .NET's sockets; never disposed of, because they outlive their listener.</summary>
    private static readonly Lazy<SocketConnectionContextFactory> _connections =
        new(static () => new SocketConnectionContextFactory(new SocketConnectionFactoryOptions(), NullLogger.Instance));

    private readonly ConnectionLimit _limit;
    private readonly ConnectionTracker _visitors;
    private readonly BalancerHeaders _balancers;
    private readonly Func<ConnectionContext, VisitorTransport, Task> _serve;
    private readonly ContainedFaults _faults;
    private readonly CancellationTokenSource _stopping = new();
    private readonly IReadOnlyList<EpollListener> _listeners = [];
    private readonly Socket? _socket;
    private int _isStopped;

    private RawListener(
        Socket bound,
        IEngine engine,
        ConnectionLimits limits,
        ConnectionTracker visitors,
        BalancerHeaders balancers,
        Func<ConnectionContext, VisitorTransport, Task> serve,
        TimeProvider timeProvider)
    {
        _limit = limits.Visitors;
        _visitors = visitors;
        _balancers = balancers;
        _serve = serve;
        _faults = engine.Faults;
        EndPoint = (IPEndPoint)bound.LocalEndPoint!;
        if (engine.Loops.Count > 0)
        {
            _listeners = EpollListener.StartAll(engine.Loops, bound, Backlog, OnAccepted, limits.AcceptFailed, _limit);
        }
        else
        {
            bound.Listen(Backlog);
            _socket = bound;
            _ = AcceptAsync(new LimitedAcceptor(bound, _limit, limits.AcceptFailed, timeProvider));
        }
    }

    /// <summary>Where it listens.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>Descriptors of a listener.</summary>
    public static int Descriptors(IEngine engine) => Math.Max(1, engine.Loops.Count);

    /// <summary>Listens.</summary>
    /// <param name="endPoint">The address.</param>
    /// <param name="engine">The engine of the connections.</param>
    /// <param name="limits">The limits of connections.</param>
    /// <param name="visitors">Counts the connections.</param>
    /// <param name="balancers">Takes the headers of trusted balancers off.</param>
    /// <param name="serve">Serves a connection until it ends.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <exception cref="SocketException">The address is not available.</exception>
    public static RawListener Start(
        IPEndPoint endPoint,
        IEngine engine,
        ConnectionLimits limits,
        ConnectionTracker visitors,
        BalancerHeaders balancers,
        Func<ConnectionContext, VisitorTransport, Task> serve,
        TimeProvider timeProvider)
    {
        var bound = UplinkListener.Bind(endPoint);
        try
        {
            SilentPeers.AskOn(bound);
            return new RawListener(bound, engine, limits, visitors, balancers, serve, timeProvider);
        }
        catch
        {
            bound.Dispose();
            throw;
        }
    }

    /// <summary>Stops listening, at once. Accepted connections are not touched.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _isStopped, 1) != 0)
        {
            return;
        }

        foreach (var listener in _listeners)
        {
            listener.Dispose();
        }

        _stopping.Cancel();
        _socket?.Dispose();
        _stopping.Dispose();
    }

    private void OnAccepted(EpollLoop loop, int descriptor, IPEndPoint? remote)
    {
        if (!_limit.TryEnter(remote?.Address, out var place))
        {
            DescriptorOf.Reset(descriptor);
            return;
        }

        var connection = new EpollConnectionContext(loop, descriptor, EndPoint, remote, MemoryPool<byte>.Shared, _limit, place);
        if (connection.Register() != 0)
        {
            connection.Abort();
            return;
        }

        _ = ServeAsync(connection, static connection => VisitorTransport.Of((EpollConnectionContext)connection, CancellationToken.None));
    }

    private async Task AcceptAsync(LimitedAcceptor accepting)
    {
        var stopping = _stopping.Token;
        while (await accepting.AcceptAsync(stopping).ConfigureAwait(false) is var (socket, place))
        {
            try
            {
                socket.NoDelay = true;
            }
            catch (SocketException)
            {
                // The peer has left; the code that reads notices it.
            }

            _ = ServeAsync(
                new LimitedConnection(_connections.Value.Create(socket), _limit, place),
                static connection => VisitorTransport.Of(connection, BufferPool.Shared));
        }
    }

    private async Task ServeAsync(ConnectionContext connection, Func<ConnectionContext, VisitorTransport> transportOf)
    {
        _visitors.Opened(connection);
        try
        {
            if (!_balancers.IsExpectedOf(connection) || await _balancers.TryTakeAsync(connection).ConfigureAwait(false))
            {
                await _serve(connection, transportOf(connection)).ConfigureAwait(false);
            }
        }
        catch (Exception exception)
        {
            _faults.Add(FaultPlace, exception);
            connection.Abort(new ConnectionAbortedException("A fault of the server."));
        }

        try
        {
            await connection.DisposeAsync().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            _faults.Add(FaultPlace, exception);
        }
        finally
        {
            _visitors.Ended(connection);
        }
    }
}
