using System.Net.Security;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Http2.Frames;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Http2;

/// <summary>
/// The HTTP/2 connections of one event loop. Requests share the first that has a place; another one is opened when none has, one at a time
/// and up to a limit. Where there may be no more connections, those of other loops serve too. A request that finds none waits in order.
/// Thread-safe.
/// </summary>
/// <remarks>Lock order: the gate here, then a connection's. The gates of two loops are never held together.</remarks>
internal sealed class Http2LoopConnections
{
    /// <summary>How many connections there may be.</summary>
    public const int MaxConnections = 32;

    /// <summary>How many connections in a row the service may end before they took a request: then it takes none now.</summary>
    private const int MostUseless = 3;

    /// <summary>
    /// How long a new connection on which the service allows no request is waited for. It may do that for a short time (RFC 9113 section
    /// 6.5.2); afterwards the connection counts as ended.
    /// </summary>
    private static readonly TimeSpan _shortTime = TimeSpan.FromSeconds(1);

    private readonly Http2Connections _owner;
    private readonly EpollLoop? _loop;
    private readonly Lock _gate = new();
    private readonly List<Http2Connection> _connections = [];
    private readonly LinkedList<Waiter> _waiters = new();
    private int _waiting;
    private bool _isOpening;
    private int _useless;
    private bool _hasEnded;

    public Http2LoopConnections(Http2Connections owner, EpollLoop? loop)
    {
        _owner = owner;
        _loop = loop;
    }

    /// <summary>Takes a place, or waits for one. Waiting and connecting together have the limit of a connect.</summary>
    public ValueTask<Http2Place> ReserveAsync(CancellationToken cancellationToken)
    {
        Waiter waiter;
        lock (_gate)
        {
            if (_waiters.Count == 0 && TryReserveUnsynchronized() is { } connection)
            {
                return new ValueTask<Http2Place>(new Http2Place(connection, BackendFailure.None));
            }

            if (_hasEnded)
            {
                return new ValueTask<Http2Place>(new Http2Place(null, BackendFailure.Connect(StreamResetDetail.Unreachable)));
            }

            waiter = new Waiter(this);
            _waiters.AddLast(waiter.Node);
            _waiting = _waiters.Count;
        }

        _owner.CountWaiting(1);
        Serve();
        OpenIfNeeded();
        return WaitAsync(waiter, cancellationToken);
    }

    /// <summary>Takes a place that is free now.</summary>
    public Http2Connection? TryReserve()
    {
        lock (_gate)
        {
            return _waiters.Count == 0 ? TryReserveUnsynchronized() : null;
        }
    }

    /// <summary>Gives free places to those who wait longest.</summary>
    public void Serve()
    {
        while (Volatile.Read(ref _waiting) > 0)
        {
            Http2Connection? connection;
            lock (_gate)
            {
                connection = TryReserveUnsynchronized();
            }

            connection ??= _owner.TryReserveElsewhere(this);
            if (connection is null)
            {
                return;
            }

            Waiter? first;
            lock (_gate)
            {
                first = _waiters.First?.Value;
                if (first is not null)
                {
                    RemoveUnsynchronized(first);
                }
            }

            if (first is null)
            {
                connection.Unreserve();
                return;
            }

            first.SetResult(new Http2Place(connection, BackendFailure.None));
        }
    }

    /// <summary>Takes a place of this loop for a request of another one.</summary>
    public Http2Connection? TryReserveForOther()
    {
        lock (_gate)
        {
            return TryReserveUnsynchronized();
        }
    }

    /// <summary>Retires connections that have had no request since a timestamp.</summary>
    public void RetireIdleSince(long timestamp)
    {
        foreach (var connection in Snapshot())
        {
            if (connection.IsIdleSince(timestamp))
            {
                connection.Retire();
            }
        }
    }

    /// <summary>See <see cref="ISlotHolder.TryGiveWay"/>. The connections that were opened last have the fewest requests.</summary>
    public bool TryGiveWay()
    {
        var connections = Snapshot();
        for (var i = connections.Length - 1; i >= 0; i--)
        {
            if (connections[i].TryGiveWay())
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Ends all connections, and lets none begin.</summary>
    public void End()
    {
        lock (_gate)
        {
            _hasEnded = true;
        }

        foreach (var connection in Snapshot())
        {
            connection.Abort();
        }

        Fail(new Http2Place(null, BackendFailure.Connect(StreamResetDetail.Unreachable)));
    }

    private async ValueTask<Http2Place> WaitAsync(Waiter waiter, CancellationToken cancellationToken)
    {
        using var deadline = new CancellationTokenSource(_owner.Connector.Timeout, _owner.Time);
        using var late = deadline.Token.UnsafeRegister(static waiter => ((Waiter)waiter!).GiveUp(), waiter);
        using (cancellationToken.UnsafeRegister(static waiter => ((Waiter)waiter!).GiveUp(), waiter))
        {
            return await waiter.Task.ConfigureAwait(false);
        }
    }

    private Http2Connection? TryReserveUnsynchronized()
    {
        foreach (var connection in _connections)
        {
            if (connection.TryReserve())
            {
                return connection;
            }
        }

        return null;
    }

    private Http2Connection[] Snapshot()
    {
        lock (_gate)
        {
            return [.. _connections];
        }
    }

    /// <summary>A connection has a place, takes no more, or is closed.</summary>
    private void OnChanged(Http2Connection connection)
    {
        if (connection.IsClosed)
        {
            bool isFirst;
            lock (_gate)
            {
                isFirst = _connections.Remove(connection);
            }

            if (isFirst)
            {
                _owner.Learn(connection);
                _owner.Connector.Slots.Release();
            }
        }

        if (Volatile.Read(ref _waiting) > 0)
        {
            Serve();
            OpenIfNeeded();
        }

        _owner.ServeOthers(this);
        if (_owner.Connector.Slots.HasOthersWaiting(_owner))
        {
            connection.TryGiveWay();
        }
    }

    /// <summary>All who wait now learn that there is no connection.</summary>
    private void Fail(Http2Place result)
    {
        Waiter[] waiters;
        lock (_gate)
        {
            waiters = [.. _waiters];
            foreach (var waiter in waiters)
            {
                RemoveUnsynchronized(waiter);
            }
        }

        foreach (var waiter in waiters)
        {
            waiter.SetResult(result);
        }
    }

    private void RemoveUnsynchronized(Waiter waiter)
    {
        _waiters.Remove(waiter.Node);
        _waiting = _waiters.Count;
        _owner.CountWaiting(-1);
    }

    private void OpenIfNeeded()
    {
        Http2Connection? useless = null;
        lock (_gate)
        {
            if (_isOpening || _hasEnded || _waiters.Count == 0)
            {
                return;
            }

            if (_connections.Count < MaxConnections)
            {
                _isOpening = true;
            }
            else if (_connections.Exists(static connection => connection.IsLeaving)
                || (useless = _connections.Find(static connection => connection.AllowsNone)) is null)
            {
                return;
            }
        }

        if (useless is null)
        {
            _ = OpenAsync();
            return;
        }

        // When it has closed, there is room for another one.
        useless.TryGiveWay();
    }

    private async Task OpenAsync()
    {
        var failed = new Http2Place(null, new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None));
        try
        {
            failed = await TryOpenAsync().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            _owner.Faults.Add("connection to an HTTP/2 service", exception);
        }

        _useless = failed.Connection is { HasServedNothing: true } ? _useless + 1 : 0;
        if (_useless == MostUseless)
        {
            // Those who wait would have it asked again and again, as fast as it answers.
            _useless = 0;
            failed = new Http2Place(
                null, new BackendFailure(StreamResetReason.Refused, StreamResetDetails.OfHttp2((uint)Http2ErrorCode.RefusedStream)));
        }

        lock (_gate)
        {
            _isOpening = false;
        }

        if (failed.Failure.IsNone && !failed.SpeaksHttp1)
        {
            Serve();
            if (_owner.Connector.Slots.HasOthersWaiting(_owner))
            {
                // It may be that no request waited for this connection any more.
                TryGiveWay();
            }
        }
        else
        {
            Fail(failed);
        }

        OpenIfNeeded();
    }

    /// <summary>Opens a connection, and waits for the service's first word on it.</summary>
    private async ValueTask<Http2Place> TryOpenAsync()
    {
        var (connector, versions) = (_owner.Connector, _owner.Versions);
        var opened = await connector.OpenTransportAsync(
            versions.Offers, _loop, _owner, () => Volatile.Read(ref _waiting) > 0).ConfigureAwait(false);
        if (opened.Transport is not { } transport)
        {
            if (opened.Failure.Detail == StreamResetDetail.ConnectionRefused)
            {
                versions.Forget();
            }

            return new Http2Place(null, opened.Failure);
        }

        if (_owner.IsHttps && opened.Protocol != SslApplicationProtocol.Http2)
        {
            await transport.DisposeAsync().ConfigureAwait(false);
            connector.Slots.Release();
            return _owner.OtherProtocol();
        }

        var connection = new Http2Connection(transport, _owner.Buffers, _owner.Windows, _owner.Faults, _owner.Time)
        {
            MostRequests = _owner.MostRequests,
        };
        connection.Changed = () => OnChanged(connection);
        bool hasEnded;
        lock (_gate)
        {
            // It takes no request before the service's SETTINGS.
            _connections.Add(connection);
            hasEnded = _hasEnded;
        }

        _ = connection.RunAsync();
        using var deadline = new CancellationTokenSource(connector.Timeout, _owner.Time);
        using var late = deadline.Token.UnsafeRegister(static connection => ((Http2Connection)connection!).Abort(), connection);
        if (hasEnded)
        {
            connection.Abort();
        }

        var start = await connection.Started.ConfigureAwait(false);
        if (start == Http2Start.Ready)
        {
            try
            {
                await connection.Allows.WaitAsync(_shortTime, _owner.Time).ConfigureAwait(false);
            }
            catch (TimeoutException)
            {
                connection.RetireUnlessAllowed();
            }
        }

        return start switch
        {
            Http2Start.Ready => new Http2Place(connection, BackendFailure.None),
            Http2Start.OtherProtocol => _owner.OtherProtocol(),
            _ when deadline.IsCancellationRequested => new Http2Place(null, BackendFailure.Connect(StreamResetDetail.ConnectTimeout)),
            _ => _owner.Closed(),
        };
    }

    /// <summary>A request in the queue.</summary>
    private sealed class Waiter : TaskCompletionSource<Http2Place>
    {
        private readonly Http2LoopConnections _connections;

        public Waiter(Http2LoopConnections connections)
            : base(TaskCreationOptions.RunContinuationsAsynchronously)
        {
            _connections = connections;
            Node = new LinkedListNode<Waiter>(this);
        }

        public LinkedListNode<Waiter> Node { get; }

        public void GiveUp()
        {
            bool connects;
            var hasRoom = _connections._owner.Connector.Slots.HasRoom;
            lock (_connections._gate)
            {
                if (Node.List is null)
                {
                    // It has its answer: the request finds out and gives the place back.
                    return;
                }

                // One that is being opened is not held up by the limit while that has room.
                connects = _connections._isOpening && hasRoom;
                _connections.RemoveUnsynchronized(this);
            }

            SetResult(new Http2Place(null, BackendFailure.Connect(
                connects ? StreamResetDetail.ConnectTimeout : StreamResetDetail.TooManyConnections)));
        }
    }
}
