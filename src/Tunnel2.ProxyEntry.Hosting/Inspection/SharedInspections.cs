using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Inspection;

/// <summary>
/// The inspections that all nodes of a cluster know, so that one continues where its session comes to, and ends when it was to end: the
/// database has them, and its clock counts. Changes that the database did not take are made when it is back. Thread-safe.
/// </summary>
internal sealed class SharedInspections : ISharedContent, IDisposable
{
    /// <summary>What the database calls them.</summary>
    public const string SharedKind = "inspections";

    /// <summary>How long one that is over stays in the database: until then another node could still prolong it.</summary>
    private static readonly TimeSpan _rest = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _stopping = new();
    private readonly EntryInspections _inspections;
    private readonly TimeProvider _time;
    private readonly ContainedFaults _faults;
    private readonly ILogger _logger;
    private readonly SharedCopy? _copy;
    private readonly Dictionary<string, Known> _known = new(StringComparer.Ordinal);
    private readonly HashSet<string> _toBegin = new(StringComparer.Ordinal);
    private readonly HashSet<string> _toEnd = new(StringComparer.Ordinal);
    private TaskCompletionSource _changed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _due;

    public SharedInspections(
        ProxyEntrySettings settings, EntryInspections inspections, TimeProvider time, ContainedFaults faults,
        ILogger<SharedInspections> logger, ISharedDocuments? shared = null)
    {
        _inspections = inspections;
        _time = time;
        _faults = faults;
        _logger = logger;
        _copy = shared is null
            ? null
            : new SharedCopy(shared, SharedKind, EntryInspections.MostSessions, settings.StateFolder, this, logger);
        inspections.Followed += OnFollowed;
    }

    /// <summary>Whether one more may begin.</summary>
    public bool MayBegin(string name) => All is var all && (all.Count < EntryInspections.MostSessions || all.Any(one => one.Name == name));

    /// <summary>The inspections that are on, and how long still.</summary>
    public IReadOnlyList<(string Name, TimeSpan Left)> All => _inspections.Expected;

    /// <summary>Until when a session is inspected, wherever it is; null: it is not.</summary>
    public DateTimeOffset? UntilOf(string name) => _inspections.LeftOf(name) is { } left ? _time.GetUtcNow() + left : null;

    /// <summary>The nodes that keep, or have kept, exchanges of a session.</summary>
    public IReadOnlyList<InspectionKeeper> KeepersOf(string name)
    {
        lock (_gate)
        {
            return _known.TryGetValue(name, out var known) ? known.Inspection.Keepers : [];
        }
    }

    /// <summary>Another number after each change of a session's inspection, the same at all nodes.</summary>
    public long VersionOf(string name)
    {
        lock (_gate)
        {
            return _known.TryGetValue(name, out var known) ? known.Document.Version : 0;
        }
    }

    /// <summary>Waits until a session's version is another one. Ends without a fault when it is cancelled.</summary>
    public async Task WaitForChangeAsync(string name, long version, CancellationToken cancellationToken)
    {
        for (var changed = Volatile.Read(ref _changed).Task;
            VersionOf(name) == version && !cancellationToken.IsCancellationRequested;
            changed = Volatile.Read(ref _changed).Task)
        {
            await changed.WaitAsync(cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>Begins an inspection at all nodes, or lets it last for another time.</summary>
    /// <returns>Whether all nodes know it. Otherwise this one says it again when the database is back.</returns>
    public async Task<bool> BeginAsync(string name, TimeSpan lasts)
    {
        _inspections.Expect(name, lasts);
        if (_copy is null)
        {
            return false;
        }

        lock (_gate)
        {
            _toEnd.Remove(name);
            _toBegin.Add(name);
        }

        return await TryAsync(name, TryBeginAsync).ConfigureAwait(false);
    }

    /// <summary>Ends an inspection at all nodes. Without the database, at those that hear of it in another way.</summary>
    /// <returns>Whether all nodes know it.</returns>
    public async Task<bool> EndAsync(string name)
    {
        _inspections.Withdraw(name, "it was ended");
        if (_copy is null)
        {
            return false;
        }

        lock (_gate)
        {
            _toBegin.Remove(name);
            _toEnd.Add(name);
        }

        return await TryAsync(name, TryEndAsync).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public IReadOnlyList<SharedDocument> Own()
    {
        lock (_gate)
        {
            return [.. _known.Values.Where(known => known.Left(_time) > TimeSpan.Zero).Select(static known => known.Document)];
        }
    }

    /// <inheritdoc/>
    public int Follow(SharedChanges changes)
    {
        var news = new List<Known>();
        var gone = new List<string>();
        lock (_gate)
        {
            foreach (var key in changes.Gone)
            {
                ForgetUnsynchronized(key);
            }

            foreach (var document in changes.Put)
            {
                if (SharedInspection.Read(document) is not { } inspection)
                {
                    ForgetUnsynchronized(document.Key);
                    continue;
                }

                var known = new Known(document, inspection, _time.GetTimestamp());
                _known[document.Key] = known;
                if (!_toEnd.Contains(document.Key))
                {
                    news.Add(known);
                }
            }
        }

        foreach (var known in news.Where(known => known.Left(_time) > TimeSpan.Zero))
        {
            _inspections.Expect(known.Inspection.Name, known.Left(_time));
        }

        foreach (var name in gone)
        {
            _inspections.Withdraw(name, "it was ended at another node");
        }

        if (news.Count > 0 || gone.Count > 0)
        {
            Interlocked.Exchange(ref _changed, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously))
                .TrySetResult();
        }

        Wake();
        return 0;

        void ForgetUnsynchronized(string key)
        {
            if (_known.Remove(key) && !_toBegin.Contains(key))
            {
                gone.Add(key);
            }
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _inspections.Followed -= OnFollowed;
        _stopping.Cancel();
        _copy?.Dispose();
        _stopping.Dispose();
    }

    private void OnFollowed(string name) => Wake();

    /// <summary>Does what is left to do. Does not block: the caller may have the turn of the copy.</summary>
    private void Wake()
    {
        if (_copy is not null && Interlocked.Increment(ref _due) == 1)
        {
            _ = Task.Run(WorkAsync);
        }
    }

    private async Task WorkAsync()
    {
        for (var due = 1; due > 0;)
        {
            due = Volatile.Read(ref _due);
            try
            {
                await SettleAsync().ConfigureAwait(false);
            }
            catch (Exception exception) when (_stopping.IsCancellationRequested
                && exception is OperationCanceledException or ObjectDisposedException)
            {
                return;
            }
            catch (Exception exception)
            {
                _faults.Add("shared inspections", exception);
            }

            due = Interlocked.Add(ref _due, -due);
        }
    }

    private async Task SettleAsync()
    {
        string[] begin, end;
        Known[] known;
        lock (_gate)
        {
            begin = [.. _toBegin];
            end = [.. _toEnd, .. _known.Where(one => one.Value.Left(_time) < -_rest).Select(static one => one.Key)];
            known = [.. _known.Values];
        }

        foreach (var name in end)
        {
            await TryAsync(name, TryEndAsync).ConfigureAwait(false);
        }

        foreach (var name in begin)
        {
            await TryAsync(name, TryBeginAsync).ConfigureAwait(false);
        }

        // Those in which this node keeps exchanges without being named.
        foreach (var one in known.Where(one => _inspections.UntilOf(one.Inspection.Name) is not null
            && !one.Inspection.Keepers.Contains(_inspections.Self)))
        {
            await TryAsync(one.Inspection.Name, _ => TryJoinAsync(one)).ConfigureAwait(false);
        }
    }

    private async Task<bool> TryBeginAsync(string name)
    {
        if (_inspections.LeftOf(name) is not { } left)
        {
            Done(_toBegin, name);
            return false;
        }

        var document = new SharedInspection(name, left, KeepersOf(name)).Write();
        var (outcome, _) = await _copy!.PutAsync(document, _stopping.Token).ConfigureAwait(false);
        Done(_toBegin, name);
        return outcome == SharedOutcome.Done;
    }

    private async Task<bool> TryEndAsync(string name)
    {
        await _copy!.RemoveAsync(name, _stopping.Token).ConfigureAwait(false);
        Done(_toEnd, name);
        return true;
    }

    /// <summary>Names this node. When another change was made first, the next look tries again.</summary>
    private async Task<bool> TryJoinAsync(Known known) =>
        (await _copy!.PutAsync(
            known.Inspection.With(_inspections.Self).Write(known.Document.Version, known.Document.Touched), _stopping.Token)
            .ConfigureAwait(false))
            .Outcome == SharedOutcome.Done;

    private async Task<bool> TryAsync(string name, Func<string, Task<bool>> change)
    {
        try
        {
            return await change(name).ConfigureAwait(false);
        }
        catch (SharedUnavailableException exception)
        {
            // The next look does it: it comes when the database is back.
            ProxyEntryLog.InspectionNotShared(_logger, name, exception.Reason);
            return false;
        }
    }

    private void Done(HashSet<string> names, string name)
    {
        lock (_gate)
        {
            names.Remove(name);
        }
    }

    /// <summary>An inspection as it was read.</summary>
    private sealed record Known(SharedDocument Document, SharedInspection Inspection, long Read)
    {
        public TimeSpan Left(TimeProvider time) => Inspection.Lasts - Document.Age - time.GetElapsedTime(Read);
    }
}
