using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.ProxyEntry.Cluster.Locating;
using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Sharing;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Keeping;

/// <summary>This process as a member of its cluster: runs the keeper and hears changes, from the start to the end.</summary>
internal sealed class ClusterMember : IAsyncDisposable
{
    /// <summary>The time to say goodbye to the database.</summary>
    private static readonly TimeSpan _farewell = TimeSpan.FromSeconds(2);

    private readonly IClusterStore _store;
    private readonly NodeKeeper _keeper;
    private readonly NodeWatch _watch;
    private readonly NodeState _node;
    private readonly ClusterDirectory _directory;
    private readonly SessionLocator _locator;
    private readonly SharedDocuments? _shared;
    private readonly SharedLimits _limits;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly CancellationTokenSource _stopping = new();
    private TaskCompletionSource _work = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private Task _running = Task.CompletedTask;

    public ClusterMember(
        IClusterStore store,
        NodeKeeper keeper,
        NodeWatch watch,
        NodeState node,
        ClusterDirectory directory,
        SessionLocator locator,
        SharedLimits limits,
        TimeProvider timeProvider,
        ILogger<ClusterMember> logger,
        SharedDocuments? shared = null)
    {
        _store = store;
        _keeper = keeper;
        _watch = watch;
        _node = node;
        _directory = directory;
        _locator = locator;
        _limits = limits;
        _timeProvider = timeProvider;
        _logger = logger;
        _shared = shared;
        directory.HasWork += Wake;
        directory.Registered += limits.Add;
    }

    /// <summary>Takes the node's place, or begins to try, and keeps it.</summary>
    public async Task StartAsync()
    {
        var wait = await _keeper.StepAsync(_stopping.Token).ConfigureAwait(false);
        if (!_keeper.IsFailing)
        {
            // Agents that come at once hear of the others.
            await _watch.LookAsync(_stopping.Token).ConfigureAwait(false);
        }

        await _watch.CheckAsync().ConfigureAwait(false);
        if (_shared is not null)
        {
            // Before the first agent comes with a token that another node has made.
            await _shared.LookAsync(_stopping.Token).ConfigureAwait(false);
        }

        _running = Task.WhenAll(Task.Run(() => KeepAsync(wait)), Task.Run(ListenAsync), Task.Run(WatchAsync), Task.Run(ShareAsync),
            Task.Run(() => _limits.RunAsync(_stopping.Token)));
    }

    /// <summary>Leaves the cluster: the node's names are free at once. The second call does nothing.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_stopping.IsCancellationRequested)
        {
            return;
        }

        await _stopping.CancelAsync().ConfigureAwait(false);
        await _running.ConfigureAwait(false);
        using var limit = new CancellationTokenSource(_farewell, _timeProvider);
        await _limits.LeaveAsync(limit.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _keeper.LeaveAsync(limit.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _store.DisposeAsync().ConfigureAwait(false);
        _stopping.Dispose();
    }

    private void Wake() => Volatile.Read(ref _work).TrySetResult();

    private async Task KeepAsync(TimeSpan wait)
    {
        var isFaulted = false;
        while (!_stopping.IsCancellationRequested)
        {
            // After a failure nothing cuts the wait short.
            var work = Volatile.Read(ref _work).Task;
            await (isFaulted || _keeper.IsFailing
                ? Task.Delay(wait, _timeProvider, _stopping.Token)
                : work.WaitAsync(wait, _timeProvider, _stopping.Token)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (work.IsCompleted)
            {
                Volatile.Write(ref _work, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
            }

            if (_stopping.IsCancellationRequested)
            {
                return;
            }

            try
            {
                isFaulted = false;
                wait = await _keeper.StepAsync(_stopping.Token).ConfigureAwait(false);
                if (!_keeper.IsFailing)
                {
                    await _watch.LookAsync(_stopping.Token).ConfigureAwait(false);
                }
            }
            catch (OperationCanceledException) when (_stopping.IsCancellationRequested)
            {
                return;
            }
            catch (Exception exception)
            {
                ClusterLog.KeeperFault(_logger, exception);
                wait = ClusterTimes.LongestWait;
                isFaulted = true;
            }
        }
    }

    private Task ShareAsync() => _shared?.RunAsync(_stopping.Token) ?? Task.CompletedTask;

    private async Task WatchAsync()
    {
        while (!_stopping.IsCancellationRequested)
        {
            try
            {
                await _watch.CheckAsync().ConfigureAwait(false);
            }
            catch (Exception exception)
            {
                ClusterLog.KeeperFault(_logger, exception);
            }

            await Task.Delay(_watch.HasJoined ? ClusterTimes.Renewal : ClusterTimes.FirstWait, _timeProvider, _stopping.Token)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private async Task ListenAsync()
    {
        var backoff = new Backoff(Random.Shared);
        while (!_stopping.IsCancellationRequested)
        {
            try
            {
                await _store.ListenAsync(Listening, Heard, Asked, Shared, _stopping.Token).ConfigureAwait(false);
            }
            catch (StoreUnavailableException)
            {
                // The keeper says what is wrong.
            }
            catch (OperationCanceledException) when (_stopping.IsCancellationRequested)
            {
                return;
            }
            catch (Exception exception)
            {
                ClusterLog.KeeperFault(_logger, exception);
            }

            await Task.Delay(backoff.Next(), _timeProvider, _stopping.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        void Listening()
        {
            backoff.Reset();
            ClusterLog.Listening(_logger);
            _locator.Clear();
            _keeper.AskForComparison();
            _watch.Ask();
            _shared?.HearAll();
            Wake();
        }

        void Shared(string kind) => _shared?.Hear(kind);

        // For any change at a node: the others announce it, or do so no longer.
        void Asked(string node)
        {
            _watch.Ask();
            Wake();
        }

        void Heard(NameNotice notice)
        {
            _locator.Hear(notice);
            _directory.Hear(notice);
            if (notice.Share is not null && notice.Node != _node.Facts.Node)
            {
                _limits.Look(notice.Name);
            }
        }
    }
}
