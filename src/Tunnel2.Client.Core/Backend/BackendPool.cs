using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Idle keep-alive connections to the backend, the youngest first. It bounds how many are kept, never how many are used: a limit on
/// concurrency would be a queue that nobody can see. Thread-safe.
/// </summary>
internal sealed class BackendPool : IDisposable
{
    /// <summary>More idle connections than this are closed at once.</summary>
    public const int MaxIdle = 4096;

    /// <summary>A sweep asks the system about this many, the oldest: requests wait for the gate meanwhile.</summary>
    private const int MaxLookedAt = 64;

    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(55);
    private static readonly TimeSpan _sweepPeriod = TimeSpan.FromSeconds(5);

    private readonly BackendConnector _connector;
    private readonly ShortLock _gate = new();
    private readonly List<BackendConnection> _idle = [];
    private readonly TimeProvider _timeProvider;
    private readonly ITimer _sweep;
    private bool _disposed;

    public BackendPool(BackendConnector connector, TimeProvider timeProvider)
    {
        _connector = connector;
        _timeProvider = timeProvider;
        _sweep = timeProvider.CreateTimer(static self => ((BackendPool)self!).Sweep(), this, _sweepPeriod, _sweepPeriod);
    }

    /// <summary>Connections kept idle now.</summary>
    public int IdleCount
    {
        get
        {
            using (_gate.EnterScope())
            {
                return _idle.Count;
            }
        }
    }

    /// <summary>Takes an idle connection.</summary>
    /// <param name="check">
    /// Whether to look first if the backend has closed it meanwhile: needed where a failed exchange could not simply be tried again.
    /// </param>
    public BackendConnection? TryRent(bool check)
    {
        while (true)
        {
            BackendConnection connection;
            using (_gate.EnterScope())
            {
                if (_idle.Count == 0)
                {
                    return null;
                }

                connection = _idle[^1];
                _idle.RemoveAt(_idle.Count - 1);
            }

            if (!check || connection.Transport.IsIdleAndOpen())
            {
                return connection;
            }

            connection.Dispose();
        }
    }

    /// <summary>Opens a new connection.</summary>
    public ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(CancellationToken cancellationToken) =>
        _connector.ConnectAsync(cancellationToken);

    /// <summary>Keeps a connection whose exchange ended clean.</summary>
    public void Return(BackendConnection connection)
    {
        connection.ReturnBuffer();
        connection.IsReused = true;
        connection.IdleSince = _timeProvider.GetTimestamp();
        using (_gate.EnterScope())
        {
            if (!_disposed && _idle.Count < MaxIdle)
            {
                _idle.Add(connection);
                return;
            }
        }

        connection.Dispose();
    }

    public void Dispose()
    {
        _sweep.Dispose();
        BackendConnection[] idle;
        using (_gate.EnterScope())
        {
            _disposed = true;
            idle = [.. _idle];
            _idle.Clear();
        }

        foreach (var connection in idle)
        {
            connection.Dispose();
        }
    }

    /// <summary>Closes what has been idle for long, or was closed by the backend: a closed one must not keep its descriptor till then.</summary>
    private void Sweep()
    {
        List<BackendConnection>? dead = null;
        var now = _timeProvider.GetTimestamp();
        using (_gate.EnterScope())
        {
            var kept = 0;
            for (var i = 0; i < _idle.Count; i++)
            {
                var connection = _idle[i];
                if (_timeProvider.GetElapsedTime(connection.IdleSince, now) > _idleLimit || (i < MaxLookedAt && !connection.Transport.IsIdleAndOpen()))
                {
                    (dead ??= []).Add(connection);
                }
                else
                {
                    _idle[kept++] = connection;
                }
            }

            _idle.RemoveRange(kept, _idle.Count - kept);
        }

        foreach (var connection in dead ?? [])
        {
            connection.Dispose();
        }
    }
}
