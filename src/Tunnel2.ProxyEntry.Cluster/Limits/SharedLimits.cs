using System.Collections.Concurrent;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Limits;

/// <summary>
/// Keeps this node's shares of the limits of names that have sessions at several nodes, or may get them. One step after the other; where no
/// session is limited in that way, nothing is done. Not thread-safe, except for <see cref="Wake"/>, <see cref="Look"/> and
/// <see cref="Add"/>.
/// </summary>
internal sealed class SharedLimits
{
    /// <summary>How many names are reported at once. Others wait for the next time, those with the least demand last.</summary>
    public const int Most = 500;

    private readonly ConcurrentDictionary<string, SharedName> _shared = new(StringComparer.Ordinal);
    private readonly List<SharedName> _leaving = [];
    private readonly IShareBoard _board;
    private readonly NodeState _node;
    private readonly NameTable _names;
    private readonly Func<int> _otherNodes;
    private readonly ClusterMetrics _metrics;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly Backoff _backoff = new(Random.Shared);
    private readonly Action _wake;
    private readonly long _began;
    private (EntrySession Session, byte[] Group)[] _sessions = [];
    private TaskCompletionSource _woken = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _version = -1;
    private int _look;
    private int _failures;

    /// <param name="board">What all nodes share.</param>
    /// <param name="node">This node.</param>
    /// <param name="names">Its names.</param>
    /// <param name="otherNodes">How many other nodes were seen last.</param>
    /// <param name="metrics">The metrics.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="logger">The log.</param>
    public SharedLimits(
        IShareBoard board, NodeState node, NameTable names, Func<int> otherNodes, ClusterMetrics metrics, TimeProvider timeProvider,
        ILogger<SharedLimits> logger)
    {
        _board = board;
        _node = node;
        _names = names;
        _otherNodes = otherNodes;
        _metrics = metrics;
        _timeProvider = timeProvider;
        _logger = logger;
        _began = timeProvider.GetTimestamp();
        _wake = Wake;
        metrics.ObserveShares(() => _shared.Count(static shared => shared.Value.Limit.IsShared));
    }

    private TimeSpan Now => _timeProvider.GetElapsedTime(_began);

    /// <summary>The share of this node; null: the name's limit is not shared.</summary>
    public double? ShareOf(string name) => _shared.TryGetValue(name, out var shared) ? shared.Limit.Share : null;

    /// <summary>The next step is due soon.</summary>
    public void Wake() => Volatile.Read(ref _woken).TrySetResult();

    /// <summary>A session was registered. Before its node knows of others, it spends a small share.</summary>
    public void Add(EntrySession session)
    {
        if ((session.Member is not null || session.IsSpread) && session.RateLimit is { IsShared: false } limit)
        {
            limit.Set(ShareOf(session.Name) ?? TierShares.Start, _wake);
            Wake();
        }
    }

    /// <summary>Sessions of another node have come or gone.</summary>
    public void Look(string name)
    {
        if (_shared.TryGetValue(name, out var shared))
        {
            shared.LookNow();
            Wake();
        }
    }

    /// <summary>Runs until it is cancelled.</summary>
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        while (!cancellationToken.IsCancellationRequested)
        {
            TimeSpan wait;
            try
            {
                wait = await StepAsync(cancellationToken).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
            {
                return;
            }
            catch (Exception exception)
            {
                ClusterLog.KeeperFault(_logger, exception);
                wait = ClusterTimes.LongestWait;
            }

            // After any wake it rests a little. After a failure nothing cuts the wait short.
            var rest = _failures > 0 ? wait : ShareTimes.Least;
            await Task.Delay(rest, _timeProvider, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            var woken = Volatile.Read(ref _woken).Task;
            if (wait > rest)
            {
                await woken.WaitAsync(wait - rest, _timeProvider, cancellationToken)
                    .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }

            if (woken.IsCompleted)
            {
                Volatile.Write(ref _woken, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
            }
        }
    }

    /// <summary>Counts, and reports what is due.</summary>
    /// <returns>How long to wait for the next step, unless something wakes this node.</returns>
    public async Task<TimeSpan> StepAsync(CancellationToken cancellationToken)
    {
        Gather();
        if (_shared.IsEmpty && _leaving.Count == 0)
        {
            _failures = 0;
            return ShareTimes.IdleLook;
        }

        var now = Now;
        if (_node.Ready is null)
        {
            // The keeper finds out when the database is back, and says what is wrong.
            foreach (var (_, shared) in _shared)
            {
                shared.Limit.Failed(now, _otherNodes() + 1);
                shared.Apply();
            }

            return ShareTimes.Fast;
        }

        var due = _shared.Values.Where(shared => shared.Limit.DueIn(now) == TimeSpan.Zero).ToList();
        if (due.Count + _leaving.Count > 0)
        {
            // Those that are due soon come along: one call is cheaper than two.
            due.AddRange(_shared.Values.Where(
                shared => shared.Limit.DueIn(now) is var left && left > TimeSpan.Zero && left <= ShareTimes.Short));
            if (due.Count > Most)
            {
                due = [.. due.OrderByDescending(static shared => shared.Limit.Demand).Take(Most)];
            }

            if (!await ExchangeAsync(due, cancellationToken).ConfigureAwait(false))
            {
                // One call may get lost. Only when the next one does too, something is wrong.
                return _failures == 1 ? ShareTimes.Least : _backoff.Next();
            }
        }

        now = Now;
        return _shared.IsEmpty ? ShareTimes.IdleLook : _shared.Values.Min(shared => Next(shared, now));

        // A limit without demand is looked at once a second, in case that it gets some.
        static TimeSpan Next(SharedName shared, TimeSpan now) =>
            shared.Limit.DueIn(now) is var due && due < ShareTimes.Slow ? due : ShareTimes.Slow;
    }

    /// <summary>Gives all shares back. Best effort.</summary>
    public async Task LeaveAsync(CancellationToken cancellationToken)
    {
        var left = _shared.Values.Where(static shared => shared.Limit.IsOnBoard).Take(Most).ToList();
        if (left.Count > 0 && _node.Ready is not null)
        {
            try
            {
                await _board.ExchangeAsync(
                    _node.Facts.Node, [.. left.Select(static shared => new ShareWish(shared.Name, shared.Group, 0, static _ => null))],
                    ShareView.Expiry, cancellationToken).ConfigureAwait(false);
            }
            catch (StoreUnavailableException)
            {
                // They end by themselves.
            }
        }
    }

    private async Task<bool> ExchangeAsync(List<SharedName> due, CancellationToken cancellationToken)
    {
        var call = new ShareCall(() => Now);
        var wishes = new List<ShareWish>(due.Count + _leaving.Count);
        wishes.AddRange(due.Select(shared => new ShareWish(
            shared.Name, shared.Group, shared.Limit.Demand, view => call.Decide(shared, view))));
        wishes.AddRange(_leaving.Take(Most).Where(left => !_shared.ContainsKey(left.Name))
            .Select(static left => new ShareWish(left.Name, left.Group, 0, static _ => null)));
        _leaving.Clear();
        string? trouble = null;
        try
        {
            await _board.ExchangeAsync(_node.Facts.Node, wishes, ShareView.Expiry, cancellationToken).ConfigureAwait(false);
        }
        catch (StoreUnavailableException exception)
        {
            trouble = exception.Reason;
        }
        finally
        {
            call.End();
        }

        var now = Now;
        foreach (var shared in due)
        {
            if (trouble is null)
            {
                shared.Limit.Done(now);
            }
            else
            {
                shared.Limit.Failed(now, _otherNodes() + 1);
            }

            shared.Apply();
        }

        _metrics.SharesExchanged(trouble is null);
        if (trouble is null)
        {
            _failures = 0;
            _backoff.Reset();
            return true;
        }

        if (++_failures == 2)
        {
            ClusterLog.SharesFailed(_logger, trouble);
        }

        return false;
    }

    /// <summary>Looks which names of this node share a limit, and counts what has come.</summary>
    private void Gather()
    {
        if (_names.SharedVersion != _version)
        {
            lock (_names.Gate)
            {
                _version = _names.SharedVersion;
                _sessions = _names.SharedUnsynchronized();
            }
        }

        _look++;
        var now = Now;
        foreach (var (session, group) in _sessions)
        {
            if (session.RateLimit is not { } limit)
            {
                continue;
            }

            if (!_shared.TryGetValue(session.Name, out var shared))
            {
                _shared[session.Name] = shared = new SharedName(session.Name, group, limit, now, _wake);
            }

            shared.Group = group;
            shared.Seen = _look;
            shared.Add(limit);
        }

        foreach (var (name, shared) in _shared)
        {
            if (shared.Seen == _look)
            {
                shared.Count(now);
            }
            else if (_shared.TryRemove(name, out _))
            {
                shared.Release();
                if (shared.Limit.IsOnBoard)
                {
                    _leaving.Add(shared);
                }
            }
        }
    }
}
