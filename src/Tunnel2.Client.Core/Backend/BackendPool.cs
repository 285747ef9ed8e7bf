using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Idle keep-alive connections to the backend, the youngest first. Whatever arrives on one ends it, at once; what may still arrive behind a
/// response, <see cref="BackendConduct"/> judges. Thread-safe.
/// </summary>
internal sealed class BackendPool : IDisposable
{
    /// <summary>More idle connections than this are closed at once.</summary>
    public const int MaxIdle = 4096;

    /// <summary>More connections than this do not rest at a time: those beyond are closed, which is as safe.</summary>
    public const int MaxResting = 128;

    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(55);
    private static readonly TimeSpan _sweepPeriod = TimeSpan.FromSeconds(5);

    /// <summary>A connection that was idle for less was looked at by its loop a moment ago; one for longer is asked about.</summary>
    private static readonly TimeSpan _hot = TimeSpan.FromMilliseconds(1);

    private readonly BackendConnector _connector;
    private readonly BackendConduct _conduct;
    private readonly ShortLock _gate = new();
    private readonly IdleList _ready = new();
    private readonly IdleList _resting = new();
    private readonly TimeProvider _timeProvider;
    private readonly ContainedFaults _faults;
    private readonly ITimer _sweep;
    private bool _disposed;

    /// <summary>Makes a pool.</summary>
    /// <param name="connector">Opens what it has not.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="trustsBackend">See <see cref="BackendConduct"/>.</param>
    /// <param name="faults">Where faults of the timer are counted.</param>
    public BackendPool(BackendConnector connector, TimeProvider timeProvider, bool trustsBackend = false, ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults(timeProvider);
        _connector = connector;
        _timeProvider = timeProvider;
        _conduct = new BackendConduct(timeProvider, trustsBackend);
        _sweep = timeProvider.CreateTimer(static self => ((BackendPool)self!).OnTimer(), this, _sweepPeriod, _sweepPeriod);
        connector.Slots.Add(this);
    }

    /// <summary>Told when the backend is caught sending bytes behind its responses; null: nobody is.</summary>
    public Action<ResponseKind>? OnSurplus { get; set; }

    /// <summary>Connections kept idle now.</summary>
    public int IdleCount
    {
        get
        {
            using (_gate.EnterScope())
            {
                return _ready.Count + _resting.Count;
            }
        }
    }

    /// <summary>Takes an idle connection that is open and on which nothing has come.</summary>
    public BackendConnection? TryRent()
    {
        if (_ready.Count + _resting.Count == 0)
        {
            return null;
        }

        var now = _timeProvider.GetTimestamp();
        while (true)
        {
            BackendConnection? connection;
            bool rested;
            using (_gate.EnterScope())
            {
                connection = _ready.Youngest ?? _resting.Oldest;
                rested = connection is not null && connection.List == _resting;
                if (connection is null || (rested && !HasRested(connection, now)))
                {
                    return null;
                }

                connection.List!.Remove(connection);
            }

            if (!connection.TryTake())
            {
                continue;
            }

            if (_timeProvider.GetElapsedTime(connection.IdleSince, now) >= _hot && !connection.Transport.IsIdleAndOpen())
            {
                End(connection);
                continue;
            }

            if (rested)
            {
                _conduct.Passed(connection.LastResponse);
            }

            return connection;
        }
    }

    /// <summary>Opens a new connection, or waits for one where there may be no more.</summary>
    /// <param name="fresh">Whether it has to be new.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(bool fresh, CancellationToken cancellationToken)
    {
        var result = await _connector.ConnectAsync(fresh ? null : this, cancellationToken).ConfigureAwait(false);
        if (result.Failure.Detail == StreamResetDetail.ConnectionRefused)
        {
            // What listens there next is another process.
            _conduct.Forget();
        }

        return result;
    }

    /// <summary>Keeps a connection whose exchange ended clean, if the backend's conduct allows it.</summary>
    /// <param name="connection">The connection; the pool's from now on.</param>
    /// <param name="response">What it has carried.</param>
    public void Return(BackendConnection connection, ResponseKind response)
    {
        var now = _timeProvider.GetTimestamp();
        var reuse = _conduct.After(response, now);
        if (reuse == Reuse.Never)
        {
            connection.Discard();
            return;
        }

        if (!connection.TryBecomeIdle(this, response, now))
        {
            End(connection);
            return;
        }

        var slots = _connector.Slots;
        if (slots.Waiting > 0)
        {
            if (!connection.TryTake())
            {
                return;
            }

            if (reuse == Reuse.AfterRest || !slots.TryHandOver(this, connection))
            {
                connection.Discard();
            }

            return;
        }

        var kept = false;
        using (_gate.EnterScope())
        {
            var list = reuse == Reuse.AtOnce ? _ready : _resting;
            if (!_disposed && connection.IsIdle && _ready.Count + _resting.Count < MaxIdle && (list == _ready || list.Count < MaxResting))
            {
                list.Add(connection);
                kept = true;
            }
        }

        if (!kept)
        {
            if (connection.TryTake())
            {
                connection.Discard();
            }
        }
        else if (slots.Waiting > 0)
        {
            // Somebody has begun to wait in between, and may have looked here before.
            TryCloseIdle();
        }
    }

    /// <summary>Bytes have come that are no part of any response; the connection is not the pool's.</summary>
    public void Caught(ResponseKind response)
    {
        if (_conduct.Caught(response, _timeProvider.GetTimestamp()))
        {
            OnSurplus?.Invoke(response);
            CloseAll();
        }
    }

    /// <summary>Bytes have come in place of a response. They belong to an earlier one, unless the connection had been idle for long.</summary>
    public void CaughtInPlaceOfResponse(BackendConnection connection)
    {
        if (_timeProvider.GetElapsedTime(connection.IdleSince) <= BackendConduct.LatestSurplus)
        {
            Caught(connection.LastResponse);
        }
    }

    /// <summary>Something has come on an idle connection: bytes or its end. On the thread that received it.</summary>
    public void OnArrivalWhileIdle(BackendConnection connection)
    {
        using (_gate.EnterScope())
        {
            connection.List?.Remove(connection);
        }

        End(connection);
    }

    /// <summary>Closes the connection that has been idle longest.</summary>
    public bool TryCloseIdle()
    {
        var oldest = TryTakeOldest();
        oldest?.Discard();
        return oldest is not null;
    }

    public void Dispose()
    {
        _sweep.Dispose();
        using (_gate.EnterScope())
        {
            _disposed = true;
        }

        _connector.Slots.Remove(this);
        CloseAll();
    }

    private bool HasRested(BackendConnection connection, long now) => _timeProvider.GetElapsedTime(connection.IdleSince, now) >= BackendConduct.Rest;

    /// <summary>Ends a connection that something has come on. Bytes that came soon were behind a response.</summary>
    private void End(BackendConnection connection)
    {
        var hasBytes = connection.Transport.HasBytes();
        connection.Dispose();
        if (hasBytes)
        {
            CaughtInPlaceOfResponse(connection);
        }
    }

    private void OnTimer() => _faults.Run("backend pool", static self => self.Sweep(), this);

    private void CloseAll()
    {
        while (TryTakeOldest() is { } idle)
        {
            idle.Dispose();
        }
    }

    private BackendConnection? TryTakeOldest()
    {
        while (true)
        {
            BackendConnection? connection;
            using (_gate.EnterScope())
            {
                connection = _resting.Oldest ?? _ready.Oldest;
                connection?.List!.Remove(connection);
            }

            if (connection is null || connection.TryTake())
            {
                return connection;
            }
        }
    }

    /// <summary>Closes what has been idle for long.</summary>
    private void Sweep()
    {
        var now = _timeProvider.GetTimestamp();
        while (TryTakeOld(_resting, now) is { } rested)
        {
            _conduct.Passed(rested.LastResponse);
            rested.Dispose();
        }

        while (TryTakeOld(_ready, now) is { } old)
        {
            old.Dispose();
        }
    }

    private BackendConnection? TryTakeOld(IdleList list, long now)
    {
        while (true)
        {
            BackendConnection? connection;
            using (_gate.EnterScope())
            {
                connection = list.Oldest;
                if (connection is null || _timeProvider.GetElapsedTime(connection.IdleSince, now) <= _idleLimit)
                {
                    return null;
                }

                list.Remove(connection);
            }

            if (connection.TryTake())
            {
                return connection;
            }
        }
    }
}
