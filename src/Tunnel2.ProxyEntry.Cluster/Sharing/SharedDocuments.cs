using System.Collections.Concurrent;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Sharing;

/// <summary>
/// What this node shares with others in the cluster's database, and when it looks there: after a notice, after a new connection for
/// notices, and now and then. Thread-safe.
/// </summary>
internal sealed class SharedDocuments(ISharedStore store, TimeProvider timeProvider, ILogger<SharedDocuments> logger)
    : ISharedDocuments, ISharedLeases
{
    /// <summary>How many values are looked for at the database at once: visitors cause such questions, and choose how many.</summary>
    public const int MostFinds = 1;

    /// <summary>How long a question for a value waits for its turn.</summary>
    private static readonly TimeSpan _turn = TimeSpan.FromSeconds(1);

    private readonly CallLane _finds = new(MostFinds, _turn, timeProvider);
    private readonly ConcurrentDictionary<string, Kind> _kinds = new(StringComparer.Ordinal);
    private TaskCompletionSource _work = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <inheritdoc/>
    public void Watch(string kind, Func<CancellationToken, Task> look) => _kinds[kind] = new Kind(look);

    /// <summary>Another node has changed a kind. Does not block.</summary>
    public void Hear(string kind)
    {
        if (_kinds.TryGetValue(kind, out var one))
        {
            Volatile.Write(ref one.IsDue, true);
            Volatile.Read(ref _work).TrySetResult();
        }
    }

    /// <summary>Changes may have been missed. Does not block.</summary>
    public void HearAll()
    {
        foreach (var kind in _kinds.Keys)
        {
            Hear(kind);
        }
    }

    /// <summary>Looks at every kind. A failure is no reason not to start: the node continues with its copies.</summary>
    public Task LookAsync(CancellationToken cancellationToken) => LookAsync(isAll: true, cancellationToken);

    /// <summary>Looks when that is due, until it is cancelled.</summary>
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var backoff = new Backoff(Random.Shared);
        var isWell = true;
        while (!cancellationToken.IsCancellationRequested)
        {
            var work = Volatile.Read(ref _work).Task;

            // After a failure nothing cuts the wait short.
            await (isWell
                ? work.WaitAsync(ClusterTimes.Comparison, timeProvider, cancellationToken)
                : Task.Delay(backoff.Next(), timeProvider, cancellationToken)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (cancellationToken.IsCancellationRequested)
            {
                return;
            }

            var isAll = !work.IsCompleted || !isWell;
            if (work.IsCompleted)
            {
                Volatile.Write(ref _work, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
            }

            isWell = await LookAsync(isAll, cancellationToken).ConfigureAwait(false);
            if (isWell)
            {
                backoff.Reset();
            }
        }
    }

    /// <inheritdoc/>
    public Task<SharedSet?> ReadAsync(string kind, long since, int most, CancellationToken cancellationToken) =>
        CallAsync(store.ReadSharedAsync(kind, since, most, cancellationToken));

    /// <inheritdoc/>
    public Task FillAsync(
        string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> documents, CancellationToken cancellationToken) =>
        CallAsync(AsResultAsync(store.FillSharedAsync(kind, generation, isNew, documents, cancellationToken)));

    /// <inheritdoc/>
    public Task<SharedOutcome> AddAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
        CallAsync(store.AddSharedAsync(kind, generation, document, most, cancellationToken));

    /// <inheritdoc/>
    public Task<SharedOutcome> PutAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
        CallAsync(store.PutSharedAsync(kind, generation, document, most, cancellationToken));

    /// <inheritdoc/>
    public Task<SharedOutcome> RemoveAsync(string kind, Guid generation, string key, CancellationToken cancellationToken) =>
        CallAsync(store.RemoveSharedAsync(kind, generation, key, cancellationToken));

    /// <inheritdoc/>
    public Task TouchAsync(
        string kind, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken) =>
        CallAsync(AsResultAsync(store.TouchSharedAsync(kind, uses, cancellationToken)));

    /// <inheritdoc/>
    public Task<bool> TakeAsync(string kind, string key, byte[] holder, TimeSpan life, CancellationToken cancellationToken) =>
        CallAsync(store.TakeLeaseAsync(kind, key, holder, life, isForced: false, cancellationToken));

    /// <inheritdoc/>
    public Task PlaceAsync(string kind, string key, byte[] value, TimeSpan life, CancellationToken cancellationToken) =>
        CallAsync(store.TakeLeaseAsync(kind, key, value, life, isForced: true, cancellationToken));

    /// <inheritdoc/>
    public async Task<byte[]?> FindAsync(string kind, string key, CancellationToken cancellationToken)
    {
        if (!await _finds.TryEnterAsync(cancellationToken).ConfigureAwait(false))
        {
            throw new SharedUnavailableException("too many ask at once", mayHaveChanged: false);
        }

        try
        {
            return await CallAsync(store.FindLeaseAsync(kind, key, cancellationToken)).ConfigureAwait(false);
        }
        finally
        {
            _finds.Leave();
        }
    }

    /// <inheritdoc/>
    public Task ReleaseAsync(string kind, string key, byte[] value, CancellationToken cancellationToken) =>
        CallAsync(AsResultAsync(store.ReleaseLeaseAsync(kind, key, value, cancellationToken)));

    private static async Task<bool> AsResultAsync(Task task)
    {
        await task.ConfigureAwait(false);
        return true;
    }

    private static async Task<T> CallAsync<T>(Task<T> call)
    {
        try
        {
            return await call.ConfigureAwait(false);
        }
        catch (StoreUnavailableException exception)
        {
            throw new SharedUnavailableException(exception.Reason, mayHaveChanged: true, exception);
        }
    }

    private async Task<bool> LookAsync(bool isAll, CancellationToken cancellationToken)
    {
        var isWell = true;
        foreach (var (name, kind) in _kinds)
        {
            if (!(Interlocked.Exchange(ref kind.IsDue, false) || isAll))
            {
                continue;
            }

            try
            {
                await kind.Look(cancellationToken).ConfigureAwait(false);
                if (kind.Reported is not null)
                {
                    kind.Reported = null;
                    ClusterLog.SharedBack(logger, name);
                }
            }
            catch (SharedUnavailableException exception)
            {
                isWell = false;
                if (kind.Reported != exception.Reason)
                {
                    kind.Reported = exception.Reason;
                    ClusterLog.SharedLost(logger, name, exception.Reason);
                }
            }
            catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
            {
                return false;
            }
            catch (Exception exception)
            {
                isWell = false;
                ClusterLog.KeeperFault(logger, exception);
            }
        }

        return isWell;
    }

    private sealed class Kind(Func<CancellationToken, Task> look)
    {
        public bool IsDue;

        public Func<CancellationToken, Task> Look { get; } = look;

        /// <summary>The last reason in the log. Of the loop alone.</summary>
        public string? Reported { get; set; }
    }
}
