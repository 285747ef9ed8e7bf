using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// The open connections of some of Kestrel's listeners, counted by a connection middleware. Kestrel itself can only close those of all
/// listeners at once, but health checks must be answered until the end. Thread-safe.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "Its source of cancellation has no timer and lives as long as the process.")]
internal sealed class ConnectionTracker
{
    private const string Place = "drain";

    private readonly ContainedFaults _faults;
    private readonly ConcurrentDictionary<ConnectionContext, ConnectionActivity?> _open = new();
    private readonly CancellationTokenSource _closingSource = new();
    private readonly TimeProvider _timeProvider;
    private TaskCompletionSource? _none;
    private int _expected;
    private volatile bool _closing;

    /// <param name="faults">Counts faults of callbacks when connections are asked to end; null: they are not counted.</param>
    /// <param name="timeProvider">The clock; null: the system's.</param>
    public ConnectionTracker(ContainedFaults? faults = null, TimeProvider? timeProvider = null)
    {
        _faults = faults ?? new ContainedFaults();
        _timeProvider = timeProvider ?? TimeProvider.System;
    }

    /// <summary>Connections open now.</summary>
    public int Count => _open.Count;

    /// <summary>
    /// A connection was accepted that <see cref="Track"/> will count in a moment. Until then <see cref="WaitForNoneAsync"/> must not
    /// complete.
    /// </summary>
    public void Expect() => Interlocked.Increment(ref _expected);

    /// <summary>Signalled when every connection should end. For connections that register by <see cref="Opened"/>.</summary>
    public CancellationToken Closing => _closingSource.Token;

    /// <summary>A connection is served without the middleware.</summary>
    public void Opened(ConnectionContext connection) => _open.TryAdd(connection, null);

    /// <summary>A connection of <see cref="Opened"/> has ended.</summary>
    public void Ended(ConnectionContext connection)
    {
        _open.TryRemove(connection, out _);
        CompleteIfNone();
    }

    /// <summary>The middleware: counts a connection for as long as it is served.</summary>
    public ConnectionDelegate Track(ConnectionDelegate next) => async connection =>
    {
        var activity = new ConnectionActivity(_timeProvider) { Close = () => RequestClose(connection) };
        connection.Features.Set(activity);
        _open.TryAdd(connection, activity);
        Interlocked.Decrement(ref _expected);
        if (_closing)
        {
            // It was accepted while the listener closed: it gets one answer.
            RequestClose(connection);
        }

        try
        {
            await next(connection).ConfigureAwait(false);
        }
        finally
        {
            Ended(connection);
        }
    };

    /// <summary>Asks every connection to end: idle ones at once, the others after their current response.</summary>
    /// <returns>Completes when all have ended.</returns>
    public Task CloseAsync()
    {
        _closing = true;
        _faults.Run(Place, static source => source.Cancel(), _closingSource);
        foreach (var (connection, _) in _open)
        {
            _faults.Run(Place, RequestClose, connection);
        }

        return WaitForNoneAsync();
    }

    /// <summary>Completes when no connection is open. One caller at a time.</summary>
    public Task WaitForNoneAsync()
    {
        var none = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Volatile.Write(ref _none, none);
        CompleteIfNone();
        return none.Task;
    }

    /// <summary>Cuts every connection.</summary>
    public void Abort()
    {
        foreach (var (connection, _) in _open)
        {
            _faults.Run(Place, static connection => connection.Abort(new ConnectionAbortedException("ProxyEntry stopped.")), connection);
        }
    }

    /// <summary>
    /// Ends the connections that have waited longest for a request, to make room. One that never had a request is cut. The others are asked
    /// to close, so a request on its way is not lost, and cut when they do not close.
    /// </summary>
    /// <param name="most">How many at most.</param>
    /// <param name="least">Only those that have waited this long.</param>
    /// <returns>How many were ended.</returns>
    public int EndWaiting(int most, TimeSpan least)
    {
        var waiting = new List<(TimeSpan Idle, ConnectionContext Connection, ConnectionActivity Activity)>();
        foreach (var (connection, activity) in _open)
        {
            if (activity?.Idle is { } idle && idle >= least)
            {
                waiting.Add((idle, connection, activity));
            }
        }

        waiting.Sort(static (one, other) => other.Idle.CompareTo(one.Idle));
        var ended = Math.Min(most, waiting.Count);
        foreach (var (_, connection, activity) in waiting[..ended])
        {
            if (activity.HasServed && !activity.IsAskedToClose)
            {
                activity.GiveUpPlace();
            }
            else
            {
                connection.Abort(new ConnectionAbortedException("It waited for a request when its place was needed."));
            }
        }

        return ended;
    }

    private static void RequestClose(ConnectionContext connection) =>
        connection.Features.Get<IConnectionLifetimeNotificationFeature>()?.RequestClose();

    private void CompleteIfNone()
    {
        if (Volatile.Read(ref _none) is { } none && Volatile.Read(ref _expected) == 0 && _open.IsEmpty)
        {
            none.TrySetResult();
        }
    }
}
