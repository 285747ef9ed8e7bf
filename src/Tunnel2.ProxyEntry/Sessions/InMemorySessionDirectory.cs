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
    public int Count => Volatile.Read(ref _count);

    /// <inheritdoc/>
    public ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            EntrySession? superseded = null;
            if (_entries.TryGetValue(session.Name, out var present) && present.Session is { } holder)
            {
                if (holder.Identity != session.Identity)
                {
                    return new ValueTask<RegistrationResult>(new RegistrationResult(RegistrationStatus.NameTaken, 0, null));
                }

                superseded = holder;
                _count--;
            }

            var epoch = ++_epoch;
            _entries[session.Name] = new Entry(session, epoch, 0);
            _count++;
            return new ValueTask<RegistrationResult>(new RegistrationResult(RegistrationStatus.Registered, epoch, superseded));
        }
    }

    /// <inheritdoc/>
    public ValueTask UnregisterAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (_entries.TryGetValue(name, out var present) && present.Epoch == epoch && present.Session is not null)
            {
                var left = new Entry(null, epoch, _timeProvider.GetTimestamp());
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

        session = entry.Session;
        return session is not null ? NameState.Online : _timeProvider.GetElapsedTime(entry.LeftAt) < Memory ? NameState.Offline : NameState.Unknown;
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

    private sealed record Entry(EntrySession? Session, long Epoch, long LeftAt);
}
