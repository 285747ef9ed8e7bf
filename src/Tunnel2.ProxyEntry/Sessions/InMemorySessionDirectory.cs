using System.Collections.Concurrent;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>The directory of a single node: a table in memory. A name stays known for a day after its last session.</summary>
internal sealed class InMemorySessionDirectory : ISessionDirectory
{
    /// <summary>How long a name counts as known when its agent is gone.</summary>
    public static readonly TimeSpan Memory = TimeSpan.FromHours(24);

    /// <summary>More names than this are not remembered: nobody can fill our memory by registering at random.</summary>
    public const int MaxRemembered = 100_000;

    private readonly Lock _gate = new();
    private readonly ConcurrentDictionary<string, Entry> _entries = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, Entry>.AlternateLookup<ReadOnlySpan<char>> _lookup;
    private readonly Queue<(string Name, Entry Entry)> _left = new();
    private readonly TimeProvider _timeProvider;
    private long _epoch;
    private int _count;

    public InMemorySessionDirectory(TimeProvider timeProvider)
    {
        _timeProvider = timeProvider;
        _lookup = _entries.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    /// <inheritdoc/>
    public event Action<string>? Registered;

    /// <inheritdoc/>
    public int Count => Volatile.Read(ref _count);

    /// <inheritdoc/>
    public ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken)
    {
        EntrySession? superseded = null;
        long epoch;
        lock (_gate)
        {
            if (_entries.TryGetValue(session.Name, out var present) && present.Session is { } holder)
            {
                // Who said goodbye holds nothing any more, and finishes what it has in its own time.
                if (!present.SaidGoodbye)
                {
                    if (holder.Identity != session.Identity && !present.HandsOver)
                    {
                        return new ValueTask<RegistrationResult>(new RegistrationResult(RegistrationStatus.NameTaken, 0, null));
                    }

                    superseded = holder;
                }

                _count--;
            }

            epoch = ++_epoch;
            _entries[session.Name] = new Entry(session, epoch, 0, false);
            _count++;
        }

        Registered?.Invoke(session.Name);
        return new ValueTask<RegistrationResult>(new RegistrationResult(RegistrationStatus.Registered, epoch, superseded));
    }

    /// <inheritdoc/>
    public ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        var servesAgain = false;
        lock (_gate)
        {
            if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && present.Session is not null)
            {
                servesAgain = present.SaidGoodbye;
                _entries[name] = present with { LeftAt = 0, SaidGoodbye = false, HandsOver = true };
            }
        }

        if (servesAgain)
        {
            Registered?.Invoke(name);
        }

        return default;
    }

    /// <inheritdoc/>
    public ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && present is { Session: not null, SaidGoodbye: false })
            {
                _entries[name] = present with { LeftAt = _timeProvider.GetTimestamp(), SaidGoodbye = true };
            }
        }

        return default;
    }

    /// <inheritdoc/>
    public ValueTask UnregisterAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && present.Session is not null)
            {
                var left = new Entry(null, epoch, present.SaidGoodbye ? present.LeftAt : _timeProvider.GetTimestamp(), present.SaidGoodbye);
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
            return new NameAbsence(AbsenceKind.SaidGoodbye, entry.LeftAt);
        }

        // With a session that opens no stream: it has just been lost, and is about to be removed.
        return new NameAbsence(AbsenceKind.Lost, entry.Session is null ? entry.LeftAt : _timeProvider.GetTimestamp());
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

            // Only if the name was not registered again meanwhile.
            _entries.TryRemove(new KeyValuePair<string, Entry>(oldest.Name, oldest.Entry));
        }
    }

    private sealed record Entry(EntrySession? Session, long Epoch, long LeftAt, bool SaidGoodbye, bool HandsOver = false);
}
