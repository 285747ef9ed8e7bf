using System.Collections.Concurrent;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// The directory of a single node: a table in memory. A name stays known for a day after its last session. It is kept for that session's
/// owner for as long as requests may wait for it.
/// </summary>
internal sealed class InMemorySessionDirectory : ISessionDirectory
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
    private long _epoch;
    private int _count;

    /// <param name="timeProvider">The clock.</param>
    /// <param name="keptFor">How long a name is kept for its owner after the session; zero: it is free at once.</param>
    public InMemorySessionDirectory(TimeProvider timeProvider, TimeSpan keptFor)
    {
        _timeProvider = timeProvider;
        _keptFor = keptFor;
        _lookup = _entries.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    /// <inheritdoc/>
    public event Action<EntrySession>? Registered;

    /// <inheritdoc/>
    public int Count => Volatile.Read(ref _count);

    /// <inheritdoc/>
    public ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken)
    {
        EntrySession? superseded = null;
        long epoch;
        lock (_gate)
        {
            if (_entries.TryGetValue(session.Name, out var present))
            {
                if (present is { Session: { } holder, SaidGoodbye: false })
                {
                    if (holder.Identity != session.Identity && !(present.HandsOver && present.Owner == session.Owner))
                    {
                        return new ValueTask<RegistrationResult>(new RegistrationResult(RegistrationStatus.NameTaken, 0, null));
                    }

                    superseded = holder;
                }
                else if (
                    present.IsKept
                        && present.Owner != session.Owner
                        && _keptFor - _timeProvider.GetElapsedTime(present.LeftAt) is { Ticks: > 0 } left)
                {
                    return new ValueTask<RegistrationResult>(new RegistrationResult(RegistrationStatus.NameTaken, 0, null, left));
                }

                if (present.Session is not null)
                {
                    // A session that said goodbye no longer holds the name, and finishes its requests in its own time.
                    _count--;
                }
            }

            epoch = ++_epoch;
            _entries[session.Name] = new Entry(session, session.Owner, epoch, 0, false, true);
            _count++;
        }

        Registered?.Invoke(session);
        return new ValueTask<RegistrationResult>(new RegistrationResult(RegistrationStatus.Registered, epoch, superseded));
    }

    /// <inheritdoc/>
    public ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        EntrySession? servesAgain = null;
        lock (_gate)
        {
            if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && present.Session is not null)
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
            if (_entries.TryGetValue(name, out var present)
                && present.Epoch == epoch
                && present is { Session: not null, SaidGoodbye: false })
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
            if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && present.Session is not null)
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
            if (entry.Session is { } session)
            {
                sessions.Add(session);
            }
        }

        return sessions;
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
        EntrySession? Session, AgentIdentity Owner, long Epoch, long LeftAt, bool SaidGoodbye, bool IsKept, bool HandsOver = false);
}
