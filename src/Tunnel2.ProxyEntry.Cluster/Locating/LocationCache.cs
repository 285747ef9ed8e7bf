using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.ProxyEntry.Cluster.Locating;

/// <summary>
/// Where names of other nodes are, and which names no node serves. Bounded: a full cache loses some entry for each new one. Thread-safe.
/// </summary>
internal sealed class LocationCache
{
    /// <summary>How many names are kept at most, of each of the two kinds.</summary>
    public const int MaxNames = 100_000;

    /// <summary>How long a name counts as unknown.</summary>
    public static readonly TimeSpan UnknownFor = TimeSpan.FromSeconds(1);

    /// <summary>
    /// How long a name counts as unknown where this node would hear of its registration. Until then a wildcard serves it.
    /// </summary>
    public static readonly TimeSpan UnheardFor = TimeSpan.FromSeconds(10);

    /// <summary>How long after missed changes a place from before is better than no place at all.</summary>
    public static readonly TimeSpan DoubtedFor = TimeSpan.FromSeconds(10);

    private readonly ConcurrentDictionary<string, NodePlaces> _known = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, NodePlaces>.AlternateLookup<ReadOnlySpan<char>> _lookup;
    private readonly ConcurrentDictionary<string, Unserved> _unknown = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, Unserved>.AlternateLookup<ReadOnlySpan<char>> _unknownLookup;
    private readonly ConcurrentDictionary<string, NodePlaces> _doubted = new(StringComparer.Ordinal);
    private readonly TimeProvider _timeProvider;
    private long _cleared;
    private int _knownCount;
    private int _unknownCount;

    public LocationCache(TimeProvider timeProvider)
    {
        _timeProvider = timeProvider;
        _cleared = timeProvider.GetTimestamp() - ((long)DoubtedFor.TotalSeconds * timeProvider.TimestampFrequency);
        _lookup = _known.GetAlternateLookup<ReadOnlySpan<char>>();
        _unknownLookup = _unknown.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    /// <summary>How many names of other nodes are known.</summary>
    public int Count => Volatile.Read(ref _knownCount);

    /// <summary>Whether changes may have been missed a moment ago.</summary>
    public bool WasJustCleared => _timeProvider.GetElapsedTime(Volatile.Read(ref _cleared)) < DoubtedFor;

    /// <summary>Looks up a name, without an allocation.</summary>
    public bool TryGet(ReadOnlySpan<char> name, [MaybeNullWhen(false)] out NodePlaces places) => _lookup.TryGetValue(name, out places);

    /// <summary>Where a name was, by places that are doubted: better than nothing, while the database cannot be asked.</summary>
    public NodePlaces? Doubted(string name) => _doubted.GetValueOrDefault(name);

    /// <summary>Whether no node served the name a moment ago.</summary>
    /// <param name="name">The name.</param>
    /// <param name="awaitedFor">As <see cref="LocatedName.AwaitedFor"/>.</param>
    public bool IsUnknown(string name, out TimeSpan? awaitedFor)
    {
        awaitedFor = null;
        if (!_unknown.TryGetValue(name, out var found) || _timeProvider.GetElapsedTime(found.Since) is var age && age >= UnknownFor)
        {
            return false;
        }

        awaitedFor = found.AwaitedFor is { } rest ? rest > age ? rest - age : TimeSpan.Zero : null;
        return true;
    }

    /// <summary>Whether no node served the name lately, and nothing was heard or is expected since. Without an allocation.</summary>
    public bool WasUnknown(ReadOnlySpan<char> name) =>
        _unknownLookup.TryGetValue(name, out var found) && _timeProvider.GetElapsedTime(found.Since) is var age && age < UnheardFor
        && !(found.AwaitedFor > age);

    /// <summary>A name is at some nodes, unless the cache knows a newer place.</summary>
    public void Set(string name, NodePlaces places)
    {
        _doubted.TryRemove(name, out _);
        ForgetUnknown(name);
        while (true)
        {
            if (_known.TryGetValue(name, out var present))
            {
                if (present.Newest > places.Newest || _known.TryUpdate(name, places, present))
                {
                    return;
                }
            }
            else if (_known.TryAdd(name, places))
            {
                if (Interlocked.Increment(ref _knownCount) > MaxNames)
                {
                    EvictOne(_known, ref _knownCount);
                }

                return;
            }
        }
    }

    /// <summary>No node serves a name now.</summary>
    /// <param name="name">The name.</param>
    /// <param name="awaitedFor">As <see cref="LocatedName.AwaitedFor"/>.</param>
    public void SetUnknown(string name, TimeSpan? awaitedFor)
    {
        _doubted.TryRemove(name, out _);
        var unserved = new Unserved(_timeProvider.GetTimestamp(), awaitedFor);
        if (_unknown.TryAdd(name, unserved))
        {
            if (Interlocked.Increment(ref _unknownCount) > MaxNames)
            {
                EvictOne(_unknown, ref _unknownCount);
            }
        }
        else
        {
            _unknown[name] = unserved;
        }
    }

    /// <summary>A node serves a name: it is no longer unknown.</summary>
    public void ForgetUnknown(string name)
    {
        if (_unknown.TryRemove(name, out _))
        {
            Interlocked.Decrement(ref _unknownCount);
        }
    }

    /// <summary>Changes what is known of a name that is in the cache.</summary>
    /// <param name="name">The name.</param>
    /// <param name="change">Makes what is known afterwards of what is known; null: nothing. May be called more than once.</param>
    public void Change(string name, Func<NodePlaces, NodePlaces?> change)
    {
        while (_known.TryGetValue(name, out var present))
        {
            var next = change(present);
            if (next == present)
            {
                return;
            }

            if (next is not null)
            {
                if (_known.TryUpdate(name, next, present))
                {
                    return;
                }
            }
            else if (_known.TryRemove(new KeyValuePair<string, NodePlaces>(name, present)))
            {
                Interlocked.Decrement(ref _knownCount);
                return;
            }
        }
    }

    /// <summary>The nodes that a name was at gave it up or are not reached: their places are doubted.</summary>
    public void Doubt(string name, NodePlaces places)
    {
        if (_doubted.Count < MaxNames)
        {
            _doubted[name] = places;
        }
    }

    /// <summary>Changes the places of a name that are doubted.</summary>
    /// <param name="name">The name.</param>
    /// <param name="change">As for <see cref="Change"/>.</param>
    public void ChangeDoubted(string name, Func<NodePlaces, NodePlaces?> change)
    {
        while (_doubted.TryGetValue(name, out var present) && change(present) is var next && next != present)
        {
            if (next is null
                ? _doubted.TryRemove(new KeyValuePair<string, NodePlaces>(name, present))
                : _doubted.TryUpdate(name, next, present))
            {
                return;
            }
        }
    }

    /// <summary>
    /// Changes may have been missed: every name has to be asked for again. Until then the places are doubted, also those that were before.
    /// </summary>
    public void Clear()
    {
        Volatile.Write(ref _cleared, _timeProvider.GetTimestamp());
        foreach (var (name, _) in _known)
        {
            if (_known.TryRemove(name, out var places))
            {
                Interlocked.Decrement(ref _knownCount);
                _doubted[name] = places;
            }
        }

        for (var doubted = _doubted.Count; doubted > MaxNames;)
        {
            EvictOne(_doubted, ref doubted);
        }

        foreach (var (name, _) in _unknown)
        {
            if (_unknown.TryRemove(name, out _))
            {
                Interlocked.Decrement(ref _unknownCount);
            }
        }
    }

    private static void EvictOne<T>(ConcurrentDictionary<string, T> names, ref int count)
    {
        foreach (var (name, _) in names)
        {
            if (names.TryRemove(name, out _))
            {
                Interlocked.Decrement(ref count);
                return;
            }
        }
    }

    /// <summary>A name that no node served at some time, and for how much longer its agent was expected then.</summary>
    private readonly record struct Unserved(long Since, TimeSpan? AwaitedFor);
}
