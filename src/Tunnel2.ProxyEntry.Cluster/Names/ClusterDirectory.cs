using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Names;

/// <summary>
/// The directory of a node of a cluster: its own sessions are in a table of this process, as on a single node, and each of them is
/// registered in the database, which decides between nodes. Requests see the table alone. Thread-safe.
/// </summary>
/// <remarks>
/// While the database does not answer, the node registers an agent by itself only if the last registration under the name that it has heard
/// of was its own, of the same owner. It publishes that later, and loses it then to a registration that the database got in that time.
/// </remarks>
internal sealed class ClusterDirectory : ISessionDirectory
{
    /// <summary>How many registrations are at the database at once.</summary>
    public const int MostClaims = 4;

    /// <summary>The reason that an older uplink of an agent that has moved gets.</summary>
    private const string MovedText = "The agent has a newer session at another node.";

    /// <summary>How long a registration waits for its turn; the agent waits longer for its answer.</summary>
    private static readonly TimeSpan _turn = TimeSpan.FromSeconds(5);

    /// <summary>The wait of an agent whose name could not be checked.</summary>
    private static readonly TimeSpan _again = TimeSpan.FromSeconds(2);

    /// <summary>
    /// The wait of an agent that another process of the same identity has just overtaken, or whose predecessor has left a moment ago.
    /// </summary>
    private static readonly TimeSpan _overtaken = TimeSpan.FromMilliseconds(500);

    private readonly InMemorySessionDirectory _local;
    private readonly IClusterStore _store;
    private readonly NodeState _node;
    private readonly NameTable _names;
    private readonly TimeSpan _keptFor;
    private readonly ClusterMetrics _metrics;
    private readonly ILogger _logger;
    private readonly CallLane _claims;
    private readonly LeaseWaits _waits;

    public ClusterDirectory(
        InMemorySessionDirectory local,
        IClusterStore store,
        NodeState node,
        NameTable names,
        TimeSpan keptFor,
        ClusterMetrics metrics,
        ILogger<ClusterDirectory> logger,
        TimeProvider timeProvider)
    {
        _claims = new CallLane(MostClaims, _turn, timeProvider);
        _waits = new LeaseWaits(timeProvider);
        _local = local;
        _store = store;
        _node = node;
        _names = names;
        _keptFor = keptFor;
        _metrics = metrics;
        _logger = logger;
        local.Registered += session =>
        {
            // A registration reports its session itself, after the lock.
            if (!_names.Gate.IsHeldByCurrentThread)
            {
                Registered?.Invoke(session);
            }
        };
    }

    /// <inheritdoc/>
    public event Action<EntrySession>? Registered;

    /// <summary>
    /// Raised when there is something to report to the database, or it should be looked at. Handlers must not block or throw.
    /// </summary>
    public event Action? HasWork;

    /// <inheritdoc/>
    public int Count => _local.Count;

    /// <inheritdoc/>
    public async ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken)
    {
        if (_node.Ready is null)
        {
            // Without a turn: the database is not asked.
            return RegisterAlone(session, _node.Trouble);
        }

        if (!await _claims.TryEnterAsync(cancellationToken).ConfigureAwait(false))
        {
            return RegisterAlone(session, "Too many agents come at once.");
        }

        try
        {
            // What this node refuses by itself must not take the name from another.
            return _node.Ready is not { } lease ? RegisterAlone(session, _node.Trouble)
                : _local.Refuses(session, out var refusal) ? refusal
                : await ClaimAsync(session, lease, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            _claims.Leave();
        }
    }

    /// <summary>Has the database decide.</summary>
    private async Task<RegistrationResult> ClaimAsync(EntrySession session, NodeLease lease, CancellationToken cancellationToken)
    {
        ClaimResult claim;
        NameClaiming claiming;
        var wanted = Digests.ClaimOf(session, lease.Node);
        lock (_names.Gate)
        {
            claiming = _names.BeginClaimUnsynchronized(wanted);
        }

        try
        {
            claim = await _store.ClaimAsync(lease, wanted, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            lock (_names.Gate)
            {
                _names.EndClaimUnsynchronized(claiming);
            }

            if (exception is not StoreUnavailableException unavailable)
            {
                throw;
            }

            if (!unavailable.IsLocked)
            {
                // A locked row is that of one name.
                _node.MarkUnready(unavailable.Trouble);
            }

            HasWork?.Invoke();
            return RegisterAlone(session, unavailable.Trouble, isAsked: true);
        }

        return Conclude(session, lease, claiming, claim);
    }

    /// <inheritdoc/>
    public async ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        await _local.MarkHandingOverAsync(name, epoch, cancellationToken).ConfigureAwait(false);
        var isPublished = false;
        lock (_names.Gate)
        {
            if (_names.FindUnsynchronized(name, epoch) is { } entry)
            {
                // It may have said goodbye before, and serves again.
                if (entry.State == StoredState.Left)
                {
                    entry.Base = entry.Newest;
                    entry.Epoch = 0;
                }

                entry.State = StoredState.HandingOver;
                _names.MarkUnsynchronized(entry);
                isPublished = true;
            }
        }

        if (isPublished)
        {
            HasWork?.Invoke();
        }
    }

    /// <inheritdoc/>
    public void ReportHealth(EntrySession session)
    {
        lock (_names.Gate)
        {
            if (Array.Find(_names.EntriesUnsynchronized(session.Name), entry => entry.Session == session) is not
                { Share: not null, State: not StoredState.Left } entry)
            {
                return;
            }

            _names.MarkUnsynchronized(entry);
        }

        HasWork?.Invoke();
    }

    /// <inheritdoc/>
    public async ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        await _local.MarkLeavingAsync(name, epoch, cancellationToken).ConfigureAwait(false);
        Leave(name, epoch, _keptFor);
    }

    /// <inheritdoc/>
    public async ValueTask UnregisterAsync(string name, long epoch, bool isKept, CancellationToken cancellationToken)
    {
        await _local.UnregisterAsync(name, epoch, isKept, cancellationToken).ConfigureAwait(false);
        Leave(name, epoch, isKept ? _keptFor : TimeSpan.Zero);
    }

    /// <inheritdoc/>
    public NameState Find(ReadOnlySpan<char> name, out EntrySession? session)
    {
        var state = _local.Find(name, out session);
        if (state != NameState.Online || _node.MayServe)
        {
            return state;
        }

        // This process was stopped for longer than its lease. Requests wait until it has looked whether the name is still its own.
        session = null;
        return NameState.Offline;
    }

    /// <inheritdoc/>
    public NameAbsence GetAbsence(ReadOnlySpan<char> name) => _local.GetAbsence(name);

    /// <inheritdoc/>
    public IReadOnlyList<EntrySession> Snapshot() => _local.Snapshot();

    /// <summary>All sessions serve again, after this node had to look.</summary>
    public void ReportAll()
    {
        foreach (var session in _local.Snapshot())
        {
            Registered?.Invoke(session);
        }
    }

    /// <summary>The database says that a registration was made or changed.</summary>
    public void Hear(NameNotice notice)
    {
        _node.See(notice.Epoch);
        if (notice.State == StoredState.Left || notice.Node == _node.Facts.Node)
        {
            return;
        }

        lock (_names.Gate)
        {
            _names.SeeForeignUnsynchronized(notice.Name, notice.Epoch, notice.Share);
        }

        Lose(notice.Name, notice.Epoch, notice.Node, notice.Instance, notice.Share);
    }

    /// <summary>
    /// Another node has a name under an epoch: what this node has under an older one is over, unless it may be there at the same time. What
    /// the database may have given a newer epoch, in an answer that was lost, is over only if the database says so.
    /// </summary>
    public void Lose(string name, long epoch, string node, byte[] instance, NameShare? share = null)
    {
        List<NameEntry> lost = [];
        lock (_names.Gate)
        {
            var rivals = _names.RivalsUnsynchronized(name, share);
            foreach (var entry in rivals.Where(entry => entry.Newest < epoch && !entry.MayBeKnown).ToArray())
            {
                LoseUnsynchronized(entry, lost);
            }
        }

        lost.ForEach(entry => ReportLost(entry, node, instance));
    }

    /// <summary>The database has a newer registration in the place of one of this node, which is over.</summary>
    /// <param name="entry">The registration.</param>
    /// <param name="node">Where the newer one is.</param>
    /// <param name="instance">The process of its agent.</param>
    public void Lose(NameEntry entry, string node, byte[] instance)
    {
        List<NameEntry> lost = [];
        lock (_names.Gate)
        {
            if (_names.HasUnsynchronized(entry))
            {
                LoseUnsynchronized(entry, lost);
            }
        }

        lost.ForEach(one => ReportLost(one, node, instance));
    }

    private void LoseUnsynchronized(NameEntry entry, List<NameEntry> lost)
    {
        _names.RemoveUnsynchronized(entry);
        _local.Lose(entry.Session.Name, entry.LocalEpoch);
        if (entry.State != StoredState.Left)
        {
            lost.Add(entry);
        }
    }

    private void ReportLost(NameEntry lost, string node, byte[] instance)
    {
        ClusterLog.NameLost(_logger, lost.Session.DisplayId, lost.Session.Name, node);
        _metrics.NameLost();
        if (Digests.Of(lost.Session.Instance).AsSpan().SequenceEqual(instance))
        {
            // The agent itself has moved, for example because this node is stopping. It still finishes what is under way here, and would
            // take an end by a successor for that of another process. One that did not mean to move comes back.
            SessionTakeover.Drain(lost.Session, SessionEndReason.Shutdown, MovedText);
            return;
        }

        SessionTakeover.Supersede(lost.Session, isLost: false);
    }

    /// <summary>Registers without the database, or says why not.</summary>
    private RegistrationResult RegisterAlone(EntrySession session, string trouble, bool isAsked = false)
    {
        RegistrationResult result;
        lock (_names.Gate)
        {
            long since = -1;
            foreach (var entry in _names.EntriesUnsynchronized(session.Name))
            {
                if (entry.Session.Identity == session.Identity || entry.Session.Owner == session.Owner)
                {
                    since = Math.Max(since, entry.Newest);
                }
            }

            if (since < 0)
            {
                _metrics.RegistrationRefused();
                return new RegistrationResult(RegistrationStatus.Unavailable, 0, null, _again, trouble);
            }

            result = RegisterLocallyUnsynchronized(session);
            if (result.Status == RegistrationStatus.Registered)
            {
                _names.PutWaitingUnsynchronized(session, Digests.ShareOf(session, _node.Facts.Node), result.Epoch, since, isAsked);
                LeaveUnsynchronized(session.Name, result.Superseded);
            }
        }

        if (result.Status == RegistrationStatus.Registered)
        {
            ClusterLog.RegisteredAlone(_logger, session.DisplayId, session.Name);
            HasWork?.Invoke();
            Registered?.Invoke(session);
        }

        return result;
    }

    /// <summary>What the database's answer means for the session.</summary>
    private RegistrationResult Conclude(EntrySession session, NodeLease lease, NameClaiming claiming, ClaimResult claim)
    {
        _node.See(claim.Epoch);
        var result = default(RegistrationResult);
        var isMore = false;
        var freeIn = claim.FreeIn;
        var share = claiming.Claim.Share;
        lock (_names.Gate)
        {
            _names.EndClaimUnsynchronized(claiming);
            if (claim.Status == ClaimStatus.Taken && freeIn == TimeSpan.Zero && claim.Node == lease.Node
                && Array.TrueForAll(_names.EntriesUnsynchronized(session.Name), static entry => entry.State == StoredState.Left))
            {
                // By a session that has left this node, which the database does not know yet.
                freeIn = _overtaken;
            }

            if (claim.Status == ClaimStatus.Claimed)
            {
                var rivals = _names.RivalsUnsynchronized(session.Name, share).ToArray();
                if (claiming.Foreign > claim.Epoch || Array.Exists(rivals, entry => entry.Newest > claim.Epoch))
                {
                    return new RegistrationResult(RegistrationStatus.NameTaken, 0, null, _overtaken);
                }

                _local.RaiseEpoch(claim.Epoch);
                result = RegisterLocallyUnsynchronized(session);
                if (result.Status == RegistrationStatus.Registered)
                {
                    _names.PutUnsynchronized(session, share, result.Epoch, claim.Epoch, lease);
                    isMore = LeaveUnsynchronized(session.Name, result.Superseded);
                }
                else
                {
                    UndoUnsynchronized(session, share, rivals, lease, claim.Epoch);
                    isMore = true;
                }
            }
        }

        switch (claim.Status)
        {
            case ClaimStatus.Taken:
                if (freeIn == TimeSpan.Zero && claim.LeaseRest > TimeSpan.Zero && claim.Node != lease.Node)
                {
                    // The owner's own older session, perhaps of a node that is lost: a restarted agent may have to wait for that.
                    freeIn = _waits.Next(session.Name, claim.Epoch, claim.LeaseRest);
                }

                return new RegistrationResult(RegistrationStatus.NameTaken, 0, null, freeIn);
            case ClaimStatus.HeldAlone or ClaimStatus.HeldByPool or ClaimStatus.OtherTerms:
                return new RegistrationResult(
                    RegistrationStatus.PoolNotPossible, 0, null, default,
                    claim.Status == ClaimStatus.OtherTerms
                        ? PoolObstacles.OtherTerms
                        : PoolObstacles.OtherKind(session.Name, isPool: claim.Status == ClaimStatus.HeldByPool));
            case ClaimStatus.LeaseLost:
                const string trouble = "This node has just lost its place in the cluster.";
                _node.MarkUnready(trouble);
                HasWork?.Invoke();
                return RegisterAlone(session, trouble);
            default:
                if (isMore || _node.Ready != lease)
                {
                    HasWork?.Invoke();
                }

                if (result.Status == RegistrationStatus.Registered)
                {
                    Registered?.Invoke(session);
                }

                return result;
        }
    }

    /// <summary>
    /// A session was superseded here that has another place in the database: one process has changed how it shares the name.
    /// </summary>
    /// <returns>Whether the change must be reported to the database.</returns>
    private bool LeaveUnsynchronized(string name, EntrySession? superseded)
    {
        if (superseded is null
            || Array.Find(_names.EntriesUnsynchronized(name), entry => entry.Session == superseded) is not { } entry)
        {
            return false;
        }

        entry.LocalEpoch = 0;
        _names.LeaveUnsynchronized(entry, TimeSpan.Zero);
        return true;
    }

    /// <summary>
    /// The database gave a name that this node keeps for another owner, or serves: that comes first, and is reported to the database.
    /// </summary>
    private void UndoUnsynchronized(EntrySession session, NameShare? share, NameEntry[] rivals, NodeLease lease, long epoch)
    {
        var isServed = false;
        foreach (var present in rivals.Where(static entry => entry.State != StoredState.Left))
        {
            isServed = true;
            present.Base = epoch;
            present.Epoch = 0;
            _names.MarkUnsynchronized(present);
        }

        if (!isServed)
        {
            _names.LeaveUnsynchronized(_names.PutUnsynchronized(session, share, 0, epoch, lease), TimeSpan.Zero);
        }
    }

    private RegistrationResult RegisterLocallyUnsynchronized(EntrySession session)
    {
        // The local table never waits.
        var registering = _local.RegisterAsync(session, CancellationToken.None);
        return registering.IsCompletedSuccessfully ? registering.Result : throw new InvalidOperationException();
    }

    private void Leave(string name, long epoch, TimeSpan keptFor)
    {
        lock (_names.Gate)
        {
            if (_names.FindUnsynchronized(name, epoch) is not { } entry
                || (entry.State == StoredState.Left && keptFor == entry.KeptFor))
            {
                return;
            }

            _names.LeaveUnsynchronized(entry, keptFor);
        }

        HasWork?.Invoke();
    }
}
