using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Keeping;

/// <summary>
/// Keeps this node's place: its lease, and that the database knows its names. One step after the other; not thread-safe, except for
/// <see cref="AskForComparison"/>.
/// </summary>
internal sealed class NodeKeeper
{
    /// <summary>How many names are put aside in a step. More are no mishap of one row.</summary>
    private const int MostLocked = 2;

    private readonly IClusterStore _store;
    private readonly NodeState _node;
    private readonly TimeSpan _keptFor;
    private readonly NameTable _names;
    private readonly ClusterDirectory _directory;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly Backoff _backoff;
    private NodeLease? _lease;
    private bool _isPrepared;
    private bool _hadLease;
    private long _renewed;
    private long _compared;
    private long _tidied;
    private long? _lostAt;

    /// <summary>When the database said that the lease is over, and no step has succeeded since.</summary>
    private long? _leaseLostAt;
    private int _mustCompare;

    public NodeKeeper(
        IClusterStore store,
        NodeState node,
        NameTable names,
        ClusterDirectory directory,
        TimeSpan keptFor,
        TimeProvider timeProvider,
        ILogger<NodeKeeper> logger,
        Random? random = null)
    {
        _keptFor = keptFor;
        _backoff = new Backoff(random ?? Random.Shared);
        _store = store;
        _node = node;
        _names = names;
        _directory = directory;
        _timeProvider = timeProvider;
        _logger = logger;
        _tidied = timeProvider.GetTimestamp();
    }

    /// <summary>Whether the last step failed: then nothing may cut the wait short.</summary>
    public bool IsFailing => _backoff.Failures > 0;

    /// <summary>The next step compares this node's names with the database: changes may have been missed.</summary>
    public void AskForComparison() => Volatile.Write(ref _mustCompare, 1);

    /// <summary>Does what is due.</summary>
    /// <returns>How long to wait before the next step.</returns>
    public async Task<TimeSpan> StepAsync(CancellationToken cancellationToken)
    {
        try
        {
            await HoldLeaseAsync(cancellationToken).ConfigureAwait(false);
            await ReportAsync(cancellationToken).ConfigureAwait(false);
            if (Interlocked.Exchange(ref _mustCompare, 0) != 0 || IsDue(ref _compared, ClusterTimes.Comparison))
            {
                await CompareAsync(cancellationToken).ConfigureAwait(false);
            }

            Succeeded();
            if (IsDue(ref _tidied, ClusterTimes.Tidying))
            {
                await _store.TidyAsync(cancellationToken).ConfigureAwait(false);
            }

            return ClusterTimes.Renewal;
        }
        catch (StoreUnavailableException exception)
        {
            return Failed(exception);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            // Such as a row that was changed by hand to what no node writes: sessions continue as without the database.
            ClusterLog.KeeperFault(_logger, exception);
            return Failed(new StoreUnavailableException("this node cannot use what it says", cause: exception));
        }
    }

    /// <summary>Reports to the database what it does not know yet, and gives the lease back. Best effort.</summary>
    public async Task LeaveAsync(CancellationToken cancellationToken)
    {
        if (_lease is not { } lease || IsFailing)
        {
            return;
        }

        try
        {
            await ReportAsync(cancellationToken).ConfigureAwait(false);
            _node.MarkUnready("This node is stopping.");
            await _store.ReleaseAsync(lease, cancellationToken).ConfigureAwait(false);
        }
        catch (StoreUnavailableException)
        {
            // The lease ends by itself.
        }
    }

    private async Task HoldLeaseAsync(CancellationToken cancellationToken)
    {
        var sent = _timeProvider.GetTimestamp();
        if (_lease is { } held)
        {
            if (_node.Ready is not null && _timeProvider.GetElapsedTime(_renewed) < ClusterTimes.LeastRenewal)
            {
                return;
            }

            if (await _store.RenewAsync(_node.Facts, held, ClusterTimes.Lease, _node.Floor, cancellationToken).ConfigureAwait(false))
            {
                _renewed = sent;
                _node.Renewed(sent);
                return;
            }

            _lease = null;
            LoseLease();
            ClusterLog.LeaseLost(_logger, held.Node);
        }

        if (!_isPrepared)
        {
            await _store.PrepareAsync(cancellationToken).ConfigureAwait(false);
            _isPrepared = true;
        }

        sent = _timeProvider.GetTimestamp();
        var lease = await AcquireAsync(cancellationToken).ConfigureAwait(false);
        if (lease is null)
        {
            var before = _node.Facts.Node;
            _node.Rename();
            ClusterLog.Renamed(_logger, before, _node.Facts.Node);
            lease = await AcquireAsync(cancellationToken).ConfigureAwait(false)
                ?? throw new StoreUnavailableException("no name for this node");
        }

        _hadLease = true;
        _lease = lease;
        _renewed = sent;
        _node.Renewed(sent);
        _node.See(lease.Incarnation);
        int names;
        lock (_names.Gate)
        {
            _names.BeginUnsynchronized(lease);
            names = _names.ServedUnsynchronized().Length;
        }

        ClusterLog.Joined(_logger, lease.Node, lease.Incarnation, names);
    }

    private Task<NodeLease?> AcquireAsync(CancellationToken cancellationToken) =>
        _store.AcquireAsync(_node.Facts, ClusterTimes.Lease, !_hadLease, _node.Floor, cancellationToken);

    /// <summary>
    /// Reports to the database what has changed, until there is nothing more. A name whose row is locked holds up no other one.
    /// </summary>
    private async Task ReportAsync(CancellationToken cancellationToken)
    {
        var lease = _lease!;
        var (most, locked) = (NameTable.Portion, 0);
        lock (_names.Gate)
        {
            _names.TakeUpUnsynchronized();
        }

        while (true)
        {
            NameWork work;
            lock (_names.Gate)
            {
                work = _names.TakeUnsynchronized(most);
            }

            if (work.IsEmpty)
            {
                return;
            }

            try
            {
                await RenewWhileReportingAsync(lease, cancellationToken).ConfigureAwait(false);
                await ReportAsync(lease, work, cancellationToken).ConfigureAwait(false);
            }
            catch (StoreUnavailableException exception) when (exception.IsLocked && locked < MostLocked)
            {
                if (work.Changes.Count + work.Claims.Count > 1)
                {
                    most = 1;
                    continue;
                }

                locked++;
                most = NameTable.Portion;
                PutAside(work.Claims.Count > 0 ? work.Claims[0].Entry : work.Changes[0].Entry);
            }
        }
    }

    private void PutAside(NameEntry entry)
    {
        bool isNew;
        lock (_names.Gate)
        {
            isNew = _names.PutAsideUnsynchronized(entry);
        }

        if (isNew)
        {
            ClusterLog.RowLocked(_logger, entry.Session.Name);
        }
    }

    private async Task ReportAsync(NodeLease lease, NameWork work, CancellationToken cancellationToken)
    {
        if (work.Changes.Count > 0)
        {
            await _store.ChangeAsync(lease, [.. work.Changes.Select(static change => change.Change)], cancellationToken)
                .ConfigureAwait(false);
            lock (_names.Gate)
            {
                foreach (var (entry, change) in work.Changes)
                {
                    // It may have changed again in that time.
                    if (entry.State == change.State && (change.IsHealthy ?? true) == IsHealthy(entry))
                    {
                        _names.DoneUnsynchronized(entry);
                    }
                }
            }
        }

        if (work.Claims.Count > 0)
        {
            await PublishAsync(lease, work, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Many names take longer than a lease.</summary>
    private async Task RenewWhileReportingAsync(NodeLease lease, CancellationToken cancellationToken)
    {
        if (_node.MayServe)
        {
            _node.ServeUntilNextLook(TimeSpan.Zero);
        }

        var sent = _timeProvider.GetTimestamp();
        if (_timeProvider.GetElapsedTime(_renewed, sent) < ClusterTimes.Renewal)
        {
            return;
        }

        if (!await _store.RenewAsync(_node.Facts, lease, ClusterTimes.Lease, _node.Floor, cancellationToken).ConfigureAwait(false))
        {
            LoseLease();
            throw new StoreUnavailableException("lease lost");
        }

        _renewed = sent;
        _node.Renewed(sent);
    }

    private async Task PublishAsync(NodeLease lease, NameWork work, CancellationToken cancellationToken)
    {
        var results = await _store.PublishAsync(
            lease, [.. work.Claims.Select(static claim => claim.Claim)], cancellationToken).ConfigureAwait(false);
        for (var i = 0; i < work.Claims.Count; i++)
        {
            var ((entry, claim), result) = (work.Claims[i], results[i]);
            if (result.Status == ClaimStatus.LeaseLost)
            {
                LoseLease();
                throw new StoreUnavailableException("lease lost");
            }

            _node.See(result.Epoch);
            if (result.Status == ClaimStatus.Claimed)
            {
                Published(entry, claim, result.Epoch);
            }
            else
            {
                // Higher than this one: that is why it was kept.
                _directory.Lose(entry, result.Node ?? "", result.Instance ?? []);
            }
        }
    }

    /// <summary>Whether the service of a session works; of one that has its name for itself that is not asked.</summary>
    private static bool IsHealthy(NameEntry entry) => entry.Share is null || Digests.IsHealthy(entry.Session);

    private void Published(NameEntry entry, NameClaim claim, long epoch)
    {
        lock (_names.Gate)
        {
            if (!_names.HasUnsynchronized(entry))
            {
                // A successor came in that time. The database has its predecessor now, and will get a report.
                foreach (var present in _names.RivalsUnsynchronized(claim.Name, claim.Share).Where(present => present.Newest < epoch))
                {
                    present.Base = epoch;
                    present.Epoch = 0;
                    _names.MarkUnsynchronized(present);
                }

                return;
            }

            entry.Epoch = epoch;
            entry.MayBeKnown = false;
            if (entry.State == StoredState.Online && (claim.Share?.IsHealthy ?? true) == IsHealthy(entry))
            {
                _names.DoneUnsynchronized(entry);
            }
        }
    }

    /// <summary>Finds names that the database has lost, or still has, for example because an older copy was put back.</summary>
    private async Task CompareAsync(CancellationToken cancellationToken)
    {
        var lease = _lease!;
        var stored = await _store.SumAsync(lease, cancellationToken).ConfigureAwait(false);
        NameSum served;
        lock (_names.Gate)
        {
            served = _names.SumUnsynchronized();
        }

        if (stored == served)
        {
            return;
        }

        var rows = await _store.ListAsync(lease, cancellationToken).ConfigureAwait(false);
        var known = rows.Select(static row => (row.Name, row.Epoch)).ToHashSet();
        var missing = 0;
        var extra = new List<NameChange>();
        lock (_names.Gate)
        {
            foreach (var entry in _names.ServedUnsynchronized())
            {
                if (entry.Epoch > 0 && !known.Contains((entry.Session.Name, entry.Epoch)))
                {
                    missing++;
                    entry.Base = entry.Epoch;
                    entry.Epoch = 0;
                    _names.MarkUnsynchronized(entry);
                }
            }

            foreach (var (name, epoch, isShared) in rows)
            {
                // Where the name is served for itself, its registration takes the place of the row.
                if (!_names.IsClaimingUnsynchronized(name)
                    && !Array.Exists(
                        _names.EntriesUnsynchronized(name),
                        entry => entry.State != StoredState.Left && (entry.Share is null || entry.Newest == epoch)))
                {
                    // As of a claim whose answer was lost: its agent was refused, and comes again.
                    extra.Add(new NameChange(name, epoch, StoredState.Left, _keptFor, isShared ? true : null));
                }
            }
        }

        if (missing + extra.Count == 0)
        {
            return;
        }

        ClusterLog.NamesDiffer(_logger, stored.Count, served.Count, missing, extra.Count);
        for (var i = 0; i < extra.Count; i += NameTable.Portion)
        {
            await _store.ChangeAsync(lease, extra[i..Math.Min(extra.Count, i + NameTable.Portion)], cancellationToken)
                .ConfigureAwait(false);
        }

        await ReportAsync(cancellationToken).ConfigureAwait(false);
    }

    private void LoseLease()
    {
        _leaseLostAt ??= _timeProvider.GetTimestamp();
        _node.MarkUnready("This node has just lost its place in the cluster.");
    }

    private void Succeeded()
    {
        var servedBefore = _node.MayServe;
        _leaseLostAt = null;
        _backoff.Reset();
        _node.MarkReady(_lease!);
        if (_lostAt is { } lost)
        {
            ClusterLog.DatabaseBack(_logger, _timeProvider.GetElapsedTime(lost));
            _lostAt = null;
        }

        if (!servedBefore)
        {
            _directory.ReportAll();
        }
    }

    private TimeSpan Failed(StoreUnavailableException exception)
    {
        if (exception.IsSchemaMissing || exception.IsForNewerNodes)
        {
            _isPrepared = false;
            _lease = null;
        }

        var servedBefore = _node.MayServe;
        var wait = _backoff.Next();
        _node.MarkUnready(exception.Trouble);
        if (servedBefore || _leaseLostAt is not { } leaseLost || _timeProvider.GetElapsedTime(leaseLost) >= ClusterTimes.Lease)
        {
            _node.ServeUntilNextLook(wait);
        }

        if (_lostAt is null)
        {
            _lostAt = _timeProvider.GetTimestamp();
            ClusterLog.DatabaseLost(_logger, exception.Reason);
        }

        if (!servedBefore && _node.MayServe)
        {
            _directory.ReportAll();
        }

        return wait;
    }

    private bool IsDue(ref long last, TimeSpan every)
    {
        if (_timeProvider.GetElapsedTime(last) < every)
        {
            return false;
        }

        last = _timeProvider.GetTimestamp();
        return true;
    }
}
