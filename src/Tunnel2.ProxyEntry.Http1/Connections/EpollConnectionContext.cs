using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>A visitor's connection on the event loop, in the form that Kestrel and connection handlers expect.</summary>
internal sealed class EpollConnectionContext
    : ConnectionContext, IConnectionIdFeature, IConnectionTransportFeature, IConnectionItemsFeature,
    IConnectionLifetimeFeature, IConnectionEndPointFeature, IMemoryPoolFeature, ILoopFeature, IVisitorLinkFeature
{
    private static long _lastId = DateTime.UtcNow.Ticks;

    private readonly Pipe _pipe;
    private readonly ConnectionLimit _limit;
    private readonly ConnectionPlace _place;
    private readonly Lock _gate = new();
    private readonly IPEndPoint _listenerEndPoint;
    private readonly ContainedFaults _faults;
    private IDictionary<object, object?>? _items;
    private CancellationTokenSource? _closedSource;
    private FeatureCollection? _features;
    private EndPoint? _localEndPoint;
    private string? _id;
    private CancellationToken? _closedToken;
    private bool _closed;

    /// <summary>Takes over an accepted descriptor and its place, which is given back when the descriptor is closed.</summary>
    public EpollConnectionContext(
        EpollLoop loop, int descriptor, IPEndPoint listenerEndPoint, IPEndPoint? remote, MemoryPool<byte> memoryPool, ConnectionLimit limit,
        ConnectionPlace place)
    {
        _limit = limit;
        _place = place;
        _listenerEndPoint = listenerEndPoint;
        _faults = loop.Faults;
        RemoteEndPoint = remote;
        MemoryPool = memoryPool;
        _pipe = new Pipe(this, loop, descriptor);
        Transport = _pipe;
    }

    /// <inheritdoc/>
    public override string ConnectionId
    {
        get => _id ??= CreateId();
        set => _id = value;
    }

    /// <inheritdoc/>
    public override IFeatureCollection Features => _features ??= CreateFeatures();

    /// <inheritdoc cref="BaseConnectionContext.Items"/>
    public override IDictionary<object, object?> Items
    {
        get => _items ??= new ConnectionItems();
        set => _items = value;
    }

    /// <inheritdoc cref="ConnectionContext.Transport"/>
    public override IDuplexPipe Transport { get; set; }

    /// <inheritdoc cref="BaseConnectionContext.ConnectionClosed"/>
    public override CancellationToken ConnectionClosed
    {
        get
        {
            lock (_gate)
            {
                if (_closedToken is { } token)
                {
                    return token;
                }

                // Made on demand, because many connections never need it.
                _closedSource = new CancellationTokenSource();
                if (_closed)
                {
                    _closedSource.Cancel();
                }

                return (_closedToken = _closedSource.Token).Value;
            }
        }

        set
        {
            lock (_gate)
            {
                _closedToken = value;
            }
        }
    }

    /// <inheritdoc cref="BaseConnectionContext.LocalEndPoint"/>
    public override EndPoint? LocalEndPoint
    {
        get => _localEndPoint ??= IsAny(_listenerEndPoint.Address) ? _pipe.GetLocalEndPoint() : _listenerEndPoint;
        set => _localEndPoint = value;
    }

    /// <inheritdoc cref="BaseConnectionContext.RemoteEndPoint"/>
    public override EndPoint? RemoteEndPoint { get; set; }

    /// <inheritdoc/>
    public MemoryPool<byte> MemoryPool { get; }

    /// <inheritdoc/>
    public bool RunsOnLoop
    {
        get => _pipe.RunsOnLoop;
        set => _pipe.RunsOnLoop = value;
    }

    /// <inheritdoc/>
    public EpollLoop Loop => _pipe.Loop;

    /// <inheritdoc/>
    public bool IsLost => _pipe.IsBroken;

    /// <inheritdoc/>
    public int Undelivered => _pipe.Undelivered;

    /// <inheritdoc/>
    public bool SeesAllSent => true;

    /// <inheritdoc/>
    public bool TryMoveTo(EpollLoop loop) => _pipe.TryMoveTo(loop);

    /// <inheritdoc/>
    public void LimitUnreadBytes() => _pipe.LimitUnreadBytes((RemoteEndPoint as IPEndPoint)?.Address);

    /// <summary>Starts watching the socket.</summary>
    /// <returns>0, or the error: then it is closed.</returns>
    public int Register() => _pipe.Register();

    /// <inheritdoc cref="ConnectionContext.Abort()"/>
    public override void Abort() => _pipe.Abort();

    /// <inheritdoc/>
    public override void Abort(ConnectionAbortedException abortReason) => _pipe.Abort();

    /// <inheritdoc/>
    public override async ValueTask DisposeAsync()
    {
        await _pipe.CloseAsync().ConfigureAwait(false);
        await base.DisposeAsync().ConfigureAwait(false);
    }

    private static string CreateId() => Interlocked.Increment(ref _lastId).ToString("X", System.Globalization.CultureInfo.InvariantCulture);

    private static bool IsAny(IPAddress address) => address.Equals(IPAddress.Any) || address.Equals(IPAddress.IPv6Any);

    private FeatureCollection CreateFeatures()
    {
        var features = new FeatureCollection(16);
        features.Set<IConnectionIdFeature>(this);
        features.Set<IConnectionTransportFeature>(this);
        features.Set<IConnectionItemsFeature>(this);
        features.Set<IConnectionLifetimeFeature>(this);
        features.Set<IConnectionEndPointFeature>(this);
        features.Set<IMemoryPoolFeature>(this);
        features.Set<ILoopFeature>(this);
        features.Set<IVisitorLinkFeature>(this);
        return features;
    }

    /// <summary>
    /// Notifies the listeners of the token, on the loop or the pool, but never inside the call that ended the connection.
    /// </summary>
    private void MarkClosed()
    {
        lock (_gate)
        {
            if (_closed)
            {
                return;
            }

            _closed = true;
            if (_closedSource is null)
            {
                return;
            }
        }

        _pipe.Schedule(static self => ((EpollConnectionContext)self!).CancelClosed(), this);
    }

    /// <summary>Runs all registered callbacks; an exception of one costs only this connection.</summary>
    private void CancelClosed()
    {
        try
        {
            _closedSource!.Cancel();
        }
        catch (Exception exception)
        {
            _faults.Add("visitor's connection", exception);
            _pipe.Abort();
        }
    }

    private sealed class Pipe(EpollConnectionContext context, EpollLoop loop, int descriptor)
        : SocketDuplexPipe(loop, descriptor, BufferPool.Shared)
    {
        public override Exception CreateFailure(int errno) => ConnectionFailure.Create(errno);

        protected override void OnPeerClosed() => context.MarkClosed();

        protected override void OnDescriptorClosed()
        {
            context._limit.Leave(context._place);
            context.MarkClosed();
        }
    }
}
