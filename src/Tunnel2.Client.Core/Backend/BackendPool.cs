using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Idle keep-alive connections to the backend, the youngest first. Anything that arrives on one ends it at once;
/// <see cref="BackendConduct"/> judges what may still arrive after a response. Thread-safe.
/// </summary>
/// <remarks>
/// A connection lives on an event loop, and is rented by the exchanges of that loop alone. Where there may be no more connections, one
/// that comes back goes to the request that waits longest and moves to that loop (<see cref="BackendConnector"/>), and an idle one of any
/// loop is closed for a new one.
/// </remarks>
internal sealed class BackendPool : IDisposable
{
    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(55);
    private static readonly TimeSpan _sweepPeriod = TimeSpan.FromSeconds(5);

    /// <summary>Its loop looked a moment ago at a connection that was idle for less; a longer one is checked.</summary>
    private static readonly TimeSpan _hot = TimeSpan.FromMilliseconds(1);

    private readonly BackendConnector _connector;
    private readonly BackendConduct _conduct;
    private readonly TimeProvider _timeProvider;
    private readonly long _hotTicks;
    private readonly long _restTicks;
    private readonly ContainedFaults _faults;
    private readonly ITimer _sweep;

    /// <summary>Makes a pool.</summary>
    /// <param name="connector">Opens new connections.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="trustsBackend">See <see cref="BackendConduct"/>.</param>
    /// <param name="faults">Where faults of the timer are counted.</param>
    public BackendPool(BackendConnector connector, TimeProvider timeProvider, bool trustsBackend, ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults(timeProvider);
        _connector = connector;
        _timeProvider = timeProvider;
        Idle = new IdleConnections(timeProvider);
        (_hotTicks, _restTicks) = (TicksOf(_hot), TicksOf(BackendConduct.Rest));
        _conduct = new BackendConduct(timeProvider, trustsBackend);
        _sweep = timeProvider.CreateTimer(static self => ((BackendPool)self!).OnTimer(), this, _sweepPeriod, _sweepPeriod);
        connector.Slots.Add(this);
    }

    /// <summary>Called when the backend is caught sending bytes after its responses; may be null.</summary>
    public Action<ResponseKind>? OnSurplus { get; set; }

    /// <summary>What is kept, and for whose uplinks.</summary>
    public IdleConnections Idle { get; }

    /// <summary>Takes an idle connection that is open and on which nothing has come.</summary>
    /// <param name="loop">The loop of its user; null: there are no loops.</param>
    public BackendConnection? TryRent(EpollLoop? loop = null)
    {
        var idle = Idle.On(loop);
        if (idle.Count == 0)
        {
            return null;
        }

        var now = _timeProvider.GetTimestamp();
        while (true)
        {
            BackendConnection? connection;
            bool rested;
            using (idle.Gate.EnterScope())
            {
                connection = idle.Ready.Youngest ?? idle.Resting.Oldest;
                rested = connection is not null && connection.List == idle.Resting;
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

            if (now - connection.IdleSince >= _hotTicks && !connection.Transport.WasIdleAndOpen())
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
    /// <param name="loop">The loop of its user; null: there are no loops.</param>
    public async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(
        bool fresh, CancellationToken cancellationToken, EpollLoop? loop = null)
    {
        // Where requests wait for a slot, all wait for that.
        var openings = fresh || loop is null || _connector.Slots.All.Waiting > 0 ? null : Idle.On(loop).Openings;
        if (openings is not null && await TryRentInTurnAsync(openings, loop!).ConfigureAwait(false) is { } returned)
        {
            return (returned, BackendFailure.None);
        }

        var turn = _timeProvider.GetTimestamp();
        var result = await _connector.ConnectAsync(fresh ? null : this, cancellationToken, loop).ConfigureAwait(false);
        if (result.Connection is { IsReused: false } connection)
        {
            connection.ReportTo(openings);
        }
        else
        {
            openings?.Ended(turn);
        }

        if (result.Failure.Detail == StreamResetDetail.ConnectionRefused)
        {
            // The next process that listens there is another one.
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
        connection.TakeOpenings()?.Answered(connection.Begun, now);
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

        if (reuse != Reuse.AfterRest && Idle.Beside(connection).Openings?.TryHandOver(connection, now) == true)
        {
            return;
        }

        var slots = _connector.Slots;
        if (slots.IsWanted)
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

        if (!Idle.TryAdd(connection, rests: reuse == Reuse.AfterRest))
        {
            if (connection.TryTake())
            {
                connection.Discard();
            }
        }
        else if (slots.IsWanted)
        {
            // A request has begun to wait in between, and may have looked here before.
            TryCloseIdle();
        }
    }

    /// <summary>Bytes have come that are no part of any response; the connection is not the pool's.</summary>
    public void Caught(ResponseKind response)
    {
        if (_conduct.Caught(response, _timeProvider.GetTimestamp()))
        {
            OnSurplus?.Invoke(response);
            Idle.CloseAll();
        }
    }

    /// <summary>
    /// Bytes that are no response have come in place of that to a request which may not be sent again, so no second answer shows whose
    /// they are.
    /// </summary>
    public void SuspectedInPlaceOfResponse(BackendConnection connection)
    {
        if (MayBeSurplus(connection) && _conduct.Suspected(connection.LastResponse, _timeProvider.GetTimestamp()))
        {
            Idle.CloseAll();
        }
    }

    /// <summary>
    /// Bytes have come in place of a response. They belong to an earlier one, unless the connection had been idle for long.
    /// </summary>
    public void CaughtInPlaceOfResponse(BackendConnection connection)
    {
        if (MayBeSurplus(connection))
        {
            Caught(connection.LastResponse);
        }
    }

    /// <summary>Whether what has come on a connection now may belong to its last response.</summary>
    public bool MayBeSurplus(BackendConnection connection) =>
        _timeProvider.GetElapsedTime(connection.IdleSince) <= BackendConduct.LatestSurplus;

    /// <summary>Something has come on an idle connection: bytes or its end. On the thread that received it.</summary>
    public void OnArrivalWhileIdle(BackendConnection connection)
    {
        using (Idle.Beside(connection).Gate.EnterScope())
        {
            connection.List?.Remove(connection);
        }

        End(connection);
    }

    /// <summary>Closes the connection that has been idle longest.</summary>
    public bool TryCloseIdle()
    {
        var oldest = Idle.TryTakeLongestIdle();
        oldest?.Discard();
        return oldest is not null;
    }

    public void Dispose()
    {
        _sweep.Dispose();
        _connector.Slots.Remove(this);
        Idle.End();
    }

    /// <summary>Waits for the turn to open a connection on a loop.</summary>
    /// <returns>A connection that came back in that time; null: a new one has to be opened.</returns>
    private ValueTask<BackendConnection?> TryRentInTurnAsync(LoopOpenings openings, EpollLoop loop)
    {
        var turn = openings.NextAsync();
        return turn.IsCompleted ? turn : RentAfterAsync(turn, openings, loop);
    }

    private async ValueTask<BackendConnection?> RentAfterAsync(ValueTask<BackendConnection?> turn, LoopOpenings openings, EpollLoop loop)
    {
        if (await turn.ConfigureAwait(false) is { } returned)
        {
            return returned;
        }

        var idle = TryRent(loop);
        if (idle is not null)
        {
            openings.Ended(_timeProvider.GetTimestamp());
        }

        return idle;
    }

    private bool HasRested(BackendConnection connection, long now) => now - connection.IdleSince >= _restTicks;

    /// <summary>A time in the clock's own unit: a request compares timestamps, and divides nothing.</summary>
    private long TicksOf(TimeSpan time) => (long)(time.TotalSeconds * _timeProvider.TimestampFrequency);

    /// <summary>Ends a connection that something has come on. Bytes that came soon were after a response.</summary>
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

    /// <summary>Closes what has been idle for long.</summary>
    private void Sweep()
    {
        var since = _timeProvider.GetTimestamp() - TicksOf(_idleLimit);
        while (Idle.TryTakeIdleSince(since, resting: true) is { } rested)
        {
            _conduct.Passed(rested.LastResponse);
            rested.Dispose();
        }

        while (Idle.TryTakeIdleSince(since, resting: false) is { } old)
        {
            old.Dispose();
        }
    }
}
