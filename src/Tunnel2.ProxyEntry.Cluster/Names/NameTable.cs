using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Names;

/// <summary>
/// The names that this node serves or was the last to serve, beside what the database knows of them. All changes are under one lock,
/// together with those of the local directory; nothing waits under it.
/// </summary>
internal sealed class NameTable(TimeProvider timeProvider)
{
    /// <summary>How many names are reported to the database at once.</summary>
    public const int Portion = 200;

    private readonly Dictionary<string, NameEntry[]> _entries = new(StringComparer.Ordinal);
    private readonly Dictionary<string, List<NameClaiming>> _claiming = new(StringComparer.Ordinal);
    private readonly HashSet<NameEntry> _waiting = [];
    private readonly List<NameEntry> _aside = [];
    private readonly HashSet<NameEntry> _shared = [];
    private readonly Queue<NameEntry> _left = new();
    private string _node = "";
    private long _incarnation;
    private int _sharedVersion;

    /// <summary>Guards everything here and the order of changes to the local directory.</summary>
    public Lock Gate { get; } = new();

    /// <summary>Changes with what <see cref="SharedUnsynchronized"/> gives. Read without the lock.</summary>
    public int SharedVersion => Volatile.Read(ref _sharedVersion);

    /// <summary>Whether something is still to be reported to the database.</summary>
    public bool HasWorkUnsynchronized => _waiting.Count > 0;

    /// <summary>A claim is sent to the database. <see cref="EndClaimUnsynchronized"/> must follow.</summary>
    public NameClaiming BeginClaimUnsynchronized(NameClaim claim)
    {
        if (!_claiming.TryGetValue(claim.Name, out var present))
        {
            _claiming[claim.Name] = present = [];
        }

        var claiming = new NameClaiming(claim);
        present.Add(claiming);
        return claiming;
    }

    /// <summary>A claim was answered.</summary>
    public void EndClaimUnsynchronized(NameClaiming claiming)
    {
        var present = _claiming[claiming.Claim.Name];
        present.Remove(claiming);
        if (present.Count == 0)
        {
            _claiming.Remove(claiming.Claim.Name);
        }
    }

    /// <summary>Whether a claim of the name is on its way.</summary>
    public bool IsClaimingUnsynchronized(string name) => _claiming.ContainsKey(name);

    /// <summary>Another node got a name for which claims may be on their way.</summary>
    public void SeeForeignUnsynchronized(string name, long epoch, NameShare? share)
    {
        if (_claiming.TryGetValue(name, out var present))
        {
            foreach (var claiming in present.Where(claiming => !NameShare.AreBeside(claiming.Claim.Share, share)))
            {
                claiming.Foreign = Math.Max(claiming.Foreign, epoch);
            }
        }
    }

    /// <summary>What is known of a name: one entry, or one for each session that shares it.</summary>
    public NameEntry[] EntriesUnsynchronized(string name) => _entries.GetValueOrDefault(name) ?? [];

    /// <summary>The entry of a registration; null: there is none.</summary>
    public NameEntry? FindUnsynchronized(string name, long localEpoch) =>
        Array.Find(EntriesUnsynchronized(name), entry => entry.LocalEpoch == localEpoch);

    /// <summary>The entries that cannot be there together with a registration of another place.</summary>
    public IEnumerable<NameEntry> RivalsUnsynchronized(string name, NameShare? share) =>
        EntriesUnsynchronized(name).Where(entry => !NameShare.AreBeside(entry.Share, share));

    /// <summary>A session got its name from the database under a lease.</summary>
    public NameEntry PutUnsynchronized(EntrySession session, NameShare? share, long localEpoch, long epoch, NodeLease held)
    {
        var isCurrent = held.Incarnation == _incarnation;
        var entry = new NameEntry
        {
            Session = session,
            LocalEpoch = localEpoch,
            Share = share,
            Epoch = isCurrent ? epoch : 0,
            Base = isCurrent ? 0 : epoch,
        };
        SetUnsynchronized(entry, isWaiting: !isCurrent);
        return entry;
    }

    /// <summary>A session got a name that is known to be its owner's, without the database.</summary>
    public void PutWaitingUnsynchronized(EntrySession session, NameShare? share, long localEpoch, long since, bool isAsked) =>
        SetUnsynchronized(
            new NameEntry { Session = session, LocalEpoch = localEpoch, Share = share, Base = since, MayBeKnown = isAsked },
            isWaiting: true);

    /// <summary>Something changed that is still to be reported to the database.</summary>
    public void MarkUnsynchronized(NameEntry entry)
    {
        entry.IsWaiting = true;
        _waiting.Add(entry);
    }

    /// <summary>A session has left. Its name is remembered for its owner.</summary>
    public void LeaveUnsynchronized(NameEntry entry, TimeSpan keptFor)
    {
        if (entry.State != StoredState.Left)
        {
            entry.LeftAt = timeProvider.GetTimestamp();
            _left.Enqueue(entry);
        }

        entry.State = StoredState.Left;
        _sharedVersion++;
        entry.KeptFor = keptFor;
        MarkUnsynchronized(entry);
        ForgetOldUnsynchronized();
    }

    /// <summary>A session has left a name that others still share, or the name is no longer this node's.</summary>
    public void RemoveUnsynchronized(NameEntry entry)
    {
        if (HasUnsynchronized(entry))
        {
            KeepUnsynchronized(entry.Session.Name, other => other != entry);
        }
    }

    /// <summary>Whether an entry is in the table.</summary>
    public bool HasUnsynchronized(NameEntry entry) => Array.IndexOf(EntriesUnsynchronized(entry.Session.Name), entry) >= 0;

    /// <summary>A new lease: nothing is published under it yet.</summary>
    public void BeginUnsynchronized(NodeLease lease)
    {
        _incarnation = lease.Incarnation;
        _node = lease.Node;
        _waiting.Clear();
        _aside.Clear();
        foreach (var entry in _entries.Values.SelectMany(static entries => entries))
        {
            entry.Base = entry.Newest;
            entry.Epoch = 0;
            entry.IsWaiting = false;
            entry.Share = Digests.ShareOf(entry.Session, _node);
            if (entry.State != StoredState.Left)
            {
                MarkUnsynchronized(entry);
            }
        }
    }

    /// <summary>The database cannot hear of an entry now. It waits until <see cref="TakeUpUnsynchronized"/>.</summary>
    /// <returns>Whether that is new.</returns>
    public bool PutAsideUnsynchronized(NameEntry entry)
    {
        _waiting.Remove(entry);
        _aside.Add(entry);
        var isNew = !entry.WasAside;
        entry.WasAside = true;
        return isNew;
    }

    /// <summary>What was put aside is tried again.</summary>
    public void TakeUpUnsynchronized()
    {
        foreach (var entry in _aside.Where(entry => entry.IsWaiting && HasUnsynchronized(entry)))
        {
            _waiting.Add(entry);
        }

        _aside.Clear();
    }

    /// <summary>
    /// The next portion of what is still to be reported to the database. It stays until <see cref="DoneUnsynchronized"/>.
    /// </summary>
    public NameWork TakeUnsynchronized(int most = Portion)
    {
        var claims = new List<(NameEntry, NameClaim)>();
        var changes = new List<(NameEntry, NameChange)>();
        foreach (var entry in _waiting.Take(most).ToArray())
        {
            if (entry.State != StoredState.Left && entry.Epoch == 0)
            {
                claims.Add((entry, Digests.ClaimOf(entry.Session, _node, entry.Base)));
            }
            else if (entry.Newest > 0)
            {
                changes.Add((entry, new NameChange(
                    entry.Session.Name, entry.Newest, entry.State, KeptLeft(entry),
                    entry.Share is null ? null : Digests.IsHealthy(entry.Session))));
            }
            else
            {
                // It came and went while the database did not answer.
                DoneUnsynchronized(entry);
            }
        }

        return new NameWork(claims, changes);
    }

    /// <summary>The database knows of an entry.</summary>
    public void DoneUnsynchronized(NameEntry entry)
    {
        entry.IsWaiting = false;
        entry.WasAside = false;
        _waiting.Remove(entry);
        if (entry.State == StoredState.Left && EntriesUnsynchronized(entry.Session.Name).Length > 1)
        {
            // Others say for whom the name is.
            RemoveUnsynchronized(entry);
        }
    }

    /// <summary>The sum over the names that the database should know to be served here.</summary>
    public NameSum SumUnsynchronized()
    {
        long count = 0, epochs = 0;
        foreach (var entries in _entries.Values)
        {
            foreach (var entry in entries)
            {
                if (entry.State != StoredState.Left && entry.Epoch > 0)
                {
                    count++;
                    epochs += entry.Epoch % NameSum.Modulus;
                }
            }
        }

        return new NameSum(count, epochs);
    }

    /// <summary>All entries that are served.</summary>
    public NameEntry[] ServedUnsynchronized() =>
        [.. _entries.Values.SelectMany(static entries => entries).Where(static entry => entry.State != StoredState.Left)];

    /// <summary>The sessions of this node that share their names with others, or may.</summary>
    public (EntrySession Session, byte[] Group)[] SharedUnsynchronized() =>
    [
        .. _shared.Where(static entry => entry.State != StoredState.Left).Select(static entry => (entry.Session, entry.Share!.Group)),
    ];

    private TimeSpan KeptLeft(NameEntry entry)
    {
        if (entry.State != StoredState.Left)
        {
            return TimeSpan.Zero;
        }

        var left = entry.KeptFor - timeProvider.GetElapsedTime(entry.LeftAt);
        return left > TimeSpan.Zero ? left : TimeSpan.Zero;
    }

    private void SetUnsynchronized(NameEntry entry, bool isWaiting)
    {
        // What left and was reported is not needed beside one that serves.
        KeepUnsynchronized(
            entry.Session.Name,
            other => NameShare.AreBeside(other.Share, entry.Share) && (other.State != StoredState.Left || other.IsWaiting));
        _entries[entry.Session.Name] = [.. EntriesUnsynchronized(entry.Session.Name), entry];
        if (entry.Share is not null)
        {
            _shared.Add(entry);
            _sharedVersion++;
        }

        if (isWaiting)
        {
            MarkUnsynchronized(entry);
        }
    }

    private void KeepUnsynchronized(string name, Predicate<NameEntry> isKept)
    {
        var present = EntriesUnsynchronized(name);
        var kept = Array.FindAll(present, isKept);
        foreach (var entry in present.Except(kept))
        {
            _waiting.Remove(entry);
            _sharedVersion += _shared.Remove(entry) ? 1 : 0;
        }

        if (kept.Length == 0)
        {
            _entries.Remove(name);
        }
        else
        {
            _entries[name] = kept;
        }
    }

    private void ForgetOldUnsynchronized()
    {
        while (_left.TryPeek(out var oldest)
            && (_left.Count > InMemorySessionDirectory.MaxRemembered
                || timeProvider.GetElapsedTime(oldest.LeftAt) > InMemorySessionDirectory.Memory))
        {
            _left.Dequeue();

            // Only if the name was not registered again in that time. The database forgets it by itself.
            if (oldest.State == StoredState.Left)
            {
                RemoveUnsynchronized(oldest);
            }
        }
    }
}
