using System.Collections.Concurrent;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// The directory of a single node: a table in memory. A name stays known for a day after its last session. It is kept for that session's
/// owner for as long as requests may wait for it.
/// </summary>
internal sealed partial class InMemorySessionDirectory : ISessionDirectory
{
    /// <summary>How long a name counts as known after its agent has left.</summary>
    public static readonly TimeSpan Memory = TimeSpan.FromHours(24);

    /// <summary>How many names are remembered at most, so that random registrations cannot fill the memory.</summary>
    public const int MaxRemembered = 100_000;

    private readonly Lock _gate = new();
    private readonly ConcurrentDictionary<string, Entry> _entries = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, Entry>.AlternateLookup<ReadOnlySpan<char>> _lookup;
    private readonly Queue<(string Name, Entry Entry)> _left = new();
    private readonly TimeProvider _timeProvider;
    private readonly TimeSpan _keptFor;
    private readonly int _mostMembers;
    private long _epoch;
    private int _count;

    /// <param name="timeProvider">The clock.</param>
    /// <param name="keptFor">How long a name is kept for its owner after the session; zero: it is free at once.</param>
    /// <param name="mostMembers">How many sessions may share a name.</param>
    public InMemorySessionDirectory(TimeProvider timeProvider, TimeSpan keptFor, int mostMembers = PoolSettings.MostMembers)
    {
        _timeProvider = timeProvider;
        _keptFor = keptFor;
        _mostMembers = mostMembers;
        _lookup = _entries.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    /// <inheritdoc/>
    public event Action<EntrySession>? Registered;

    /// <inheritdoc/>
    public int Count => Volatile.Read(ref _count);

    /// <inheritdoc/>
    public ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken)
    {
        RegistrationResult result;
        lock (_gate)
        {
            _entries.TryGetValue(session.Name, out var present);
            result = JoinUnsynchronized(session, present) ?? TakeUnsynchronized(session, present);
        }

        if (result.Status == RegistrationStatus.Registered)
        {
            Registered?.Invoke(session);
        }

        return new ValueTask<RegistrationResult>(result);
    }

    /// <summary>A session takes a name for itself, or begins a pool.</summary>
    private RegistrationResult TakeUnsynchronized(EntrySession session, Entry? present)
    {
        if (present is not null && RefusesUnsynchronized(present, session, out var refusal))
        {
            return refusal;
        }

        var superseded = present is { SaidGoodbye: false } ? present.Session : null;

        // A session that said goodbye no longer holds the name, and finishes its requests in its own time.
        _count -= present?.Sessions ?? 0;
        var epoch = ++_epoch;
        _entries[session.Name] = session.Member is { } member
            ? BeginUnsynchronized(member, session, epoch)
            : new Entry(session, session.Owner, epoch, 0, false, true);
        _count++;
        return new RegistrationResult(RegistrationStatus.Registered, epoch, superseded);
    }

    /// <inheritdoc/>
    public ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        EntrySession? servesAgain = null;
        lock (_gate)
        {
            if (FindMemberUnsynchronized(name, epoch) is { } member)
            {
                servesAgain = member.SaidGoodbye ? member.Session : null;
                (member.SaidGoodbye, member.HandsOver) = (false, true);
                RefreshUnsynchronized(name, member.Pool!);
            }
            else if (_entries.TryGetValue(name, out var present) && present.Pool is null && present.Epoch == epoch
                && present.Session is not null)
            {
                servesAgain = present.SaidGoodbye ? present.Session : null;
                _entries[name] = present with { LeftAt = 0, SaidGoodbye = false, HandsOver = true };
            }
        }

        if (servesAgain is not null)
        {
            Registered?.Invoke(servesAgain);
        }

        return default;
    }

    /// <inheritdoc/>
    public ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (FindMemberUnsynchronized(name, epoch) is { } member)
            {
                member.SaidGoodbye = true;
                RefreshUnsynchronized(name, member.Pool!);
            }
            else if (_entries.TryGetValue(name, out var present)
                && present.Epoch == epoch
                && present is { Session: not null, SaidGoodbye: false, Pool: null })
            {
                _entries[name] = present with { LeftAt = _timeProvider.GetTimestamp(), SaidGoodbye = true };
            }
        }

        return default;
    }

    /// <inheritdoc/>
    public ValueTask UnregisterAsync(string name, long epoch, bool isKept, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (FindMemberUnsynchronized(name, epoch) is { Pool: { Members.Count: > 1 } pool } member)
            {
                pool.RemoveUnsynchronized(member);
                RefreshUnsynchronized(name, pool);
                _count--;
            }
            else if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && present.Session is not null)
            {
                var left = new Entry(
                    null,
                    present.Owner,
                    epoch,
                    present.SaidGoodbye ? present.LeftAt : _timeProvider.GetTimestamp(),
                    present.SaidGoodbye,
                    isKept);
                _entries[name] = left;
                _left.Enqueue((name, left));
                _count--;
            }

            ForgetUnsynchronized();
        }

        return default;
    }

    /// <summary>Whether a registration would be refused now, and how.</summary>
    public bool Refuses(EntrySession session, out RegistrationResult refusal)
    {
        lock (_gate)
        {
            refusal = default;
            if (!_entries.TryGetValue(session.Name, out var present))
            {
                return false;
            }

            if (FindPlaceUnsynchronized(session, present, out var pool) is { } notInPool)
            {
                refusal = notInPool;
                return true;
            }

            return pool is null && RefusesUnsynchronized(present, session, out refusal);
        }
    }

    /// <summary>Registrations from now on have at least this number. For a node whose names are numbered elsewhere.</summary>
    public void RaiseEpoch(long epoch)
    {
        lock (_gate)
        {
            _epoch = Math.Max(_epoch, epoch - 1);
        }
    }

    /// <summary>Forgets a registration whole: its place is at another node now. One of another epoch is not touched.</summary>
    public void Lose(string name, long epoch)
    {
        lock (_gate)
        {
            if (FindMemberUnsynchronized(name, epoch) is { Pool: { Members.Count: > 1 } pool } member)
            {
                pool.RemoveUnsynchronized(member);
                RefreshUnsynchronized(name, pool);
                _count--;
            }
            else if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && _entries.TryRemove(name, out _)
                && present.Session is not null)
            {
                _count--;
            }
        }
    }

    /// <inheritdoc/>
    public void ReportHealth(EntrySession session)
    {
        // Requests ask the member itself.
    }

    /// <inheritdoc/>
    public NameState Find(ReadOnlySpan<char> name, out EntrySession? session)
    {
        session = null;
        if (!_lookup.TryGetValue(name, out var entry))
        {
            return NameState.Unknown;
        }

        if (entry is { Session: { } present, SaidGoodbye: false })
        {
            session = present;
            return NameState.Online;
        }

        return entry.Session is not null || _timeProvider.GetElapsedTime(entry.LeftAt) < Memory ? NameState.Offline : NameState.Unknown;
    }

    /// <inheritdoc/>
    public NameAbsence GetAbsence(ReadOnlySpan<char> name)
    {
        if (!_lookup.TryGetValue(name, out var entry))
        {
            return default;
        }

        if (entry.SaidGoodbye)
        {
            return new NameAbsence(AbsenceKind.SaidGoodbye, entry.LeftAt, entry.Owner);
        }

        // It has a session that opens no stream: the session has just been lost and will be removed.
        return new NameAbsence(AbsenceKind.Lost, entry.Session is null ? entry.LeftAt : _timeProvider.GetTimestamp(), entry.Owner);
    }

    /// <inheritdoc/>
    public IReadOnlyList<EntrySession> Snapshot()
    {
        var sessions = new List<EntrySession>();
        foreach (var (_, entry) in _entries)
        {
            if (entry.Pool is { } pool)
            {
                sessions.AddRange(pool.Members.Select(static member => member.Session));
            }
            else if (entry.Session is { } session)
            {
                sessions.Add(session);
            }
        }

        return sessions;
    }

    private bool RefusesUnsynchronized(Entry present, EntrySession session, out RegistrationResult refusal)
    {
        refusal = default;
        if (present is { Session: { } holder, SaidGoodbye: false })
        {
            refusal = new RegistrationResult(RegistrationStatus.NameTaken, 0, null);
            return holder.Identity != session.Identity && !(present.HandsOver && present.Owner == session.Owner);
        }

        var left = _keptFor - _timeProvider.GetElapsedTime(present.LeftAt);
        refusal = new RegistrationResult(RegistrationStatus.NameTaken, 0, null, left);
        return present.IsKept && present.Owner != session.Owner && left > TimeSpan.Zero;
    }

    private void ForgetUnsynchronized()
    {
        while (_left.TryPeek(out var oldest) && (_left.Count > MaxRemembered || _timeProvider.GetElapsedTime(oldest.Entry.LeftAt) > Memory))
        {
            _left.Dequeue();

            // Only if the name was not registered again in that time.
            _entries.TryRemove(new KeyValuePair<string, Entry>(oldest.Name, oldest.Entry));
        }
    }

    private sealed record Entry(
        EntrySession? Session, AgentIdentity Owner, long Epoch, long LeftAt, bool SaidGoodbye, bool IsKept, bool HandsOver = false)
    {
        /// <summary>The sessions that share the name; one of them is <see cref="Session"/>. Null: no pool has it.</summary>
        public SessionPool? Pool { get; init; }

        /// <summary>How many sessions are registered.</summary>
        public int Sessions => Pool?.Members.Count ?? (Session is null ? 0 : 1);
    }
}
