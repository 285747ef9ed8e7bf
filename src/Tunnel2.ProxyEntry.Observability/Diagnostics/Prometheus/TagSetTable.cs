using System.Runtime.CompilerServices;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>
/// Finds the cell of a tag set. Finding a known one takes no lock and allocates nothing; adding one does both. Tag sets that differ only in
/// their order share a cell. Safe for any number of threads.
/// </summary>
internal sealed class TagSetTable
{
    // Each order in which the tags of a set arrive has its own entry. Real code does not use more orders than this.
    private const int OrdersPerCell = 4;

    private readonly Lock _lock = new();
    private readonly int _capacity;
    private readonly Func<MetricCell> _createCell;
    private readonly Dictionary<string, Series> _series = new(StringComparer.Ordinal);
    private Entry?[] _buckets = new Entry?[16];
    private Entry? _last;
    private int _entries;

    /// <param name="capacity">How many tag sets are kept; further ones find no cell.</param>
    /// <param name="createCell">Makes the cell of a new tag set.</param>
    public TagSetTable(int capacity, Func<MetricCell> createCell)
    {
        _capacity = capacity;
        _createCell = createCell;
    }

    /// <summary>The cell of a tag set, or null when the table is full.</summary>
    public MetricCell? GetOrAdd(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        // Usually the last tag set comes again: identical objects need no hash.
        if (Volatile.Read(ref _last) is { } last && AreSame(last.Tags, tags))
        {
            return last.Cell;
        }

        var hash = GetHash(tags);
        if (FindEntry(Volatile.Read(ref _buckets), hash, tags) is not { } entry)
        {
            return AddEntry(hash, tags);
        }

        Volatile.Write(ref _last, entry);
        return entry.Cell;
    }

    /// <summary>All tag sets with their rendered labels, in the order in which they appeared.</summary>
    public Series[] GetSeries()
    {
        lock (_lock)
        {
            return [.. _series.Values];
        }
    }

    private static Entry? FindEntry(Entry?[] buckets, int hash, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        for (var entry = Volatile.Read(ref buckets[hash & (buckets.Length - 1)]); entry is not null; entry = entry.Next)
        {
            if (entry.Hash == hash && AreEqual(entry.Tags, tags))
            {
                return entry;
            }
        }

        return null;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private MetricCell? AddEntry(int hash, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        lock (_lock)
        {
            if (FindEntry(_buckets, hash, tags) is { } existing)
            {
                return existing.Cell;
            }

            if (_entries >= _capacity * OrdersPerCell)
            {
                return null;
            }

            var labels = PrometheusText.RenderLabels(tags);
            if (!_series.TryGetValue(labels, out var series))
            {
                if (_series.Count >= _capacity)
                {
                    return null;
                }

                series = new Series(labels, _createCell());
                _series.Add(labels, series);
            }

            if (_entries >= _buckets.Length)
            {
                GrowUnsynchronized();
            }

            ref var head = ref _buckets[hash & (_buckets.Length - 1)];
            // Readers see either the complete entry or none.
            Volatile.Write(ref head, new Entry(hash, tags.ToArray(), series.Cell, head));
            _entries++;
            return series.Cell;
        }
    }

    // Entries are immutable and made anew, so readers of the old array miss none.
    private void GrowUnsynchronized()
    {
        var larger = new Entry?[_buckets.Length * 2];
        foreach (var head in _buckets)
        {
            for (var entry = head; entry is not null; entry = entry.Next)
            {
                ref var target = ref larger[entry.Hash & (larger.Length - 1)];
                target = new Entry(entry.Hash, entry.Tags, entry.Cell, target);
            }
        }

        Volatile.Write(ref _buckets, larger);
    }

    private static int GetHash(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        var hash = new HashCode();
        foreach (var (key, value) in tags)
        {
            hash.Add(key);
            hash.Add(value);
        }

        return hash.ToHashCode();
    }

    private static bool AreSame(KeyValuePair<string, object?>[] known, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (known.Length != tags.Length)
        {
            return false;
        }

        for (var i = 0; i < known.Length; i++)
        {
            if (!ReferenceEquals(known[i].Key, tags[i].Key) || !ReferenceEquals(known[i].Value, tags[i].Value))
            {
                return false;
            }
        }

        return true;
    }

    private static bool AreEqual(KeyValuePair<string, object?>[] known, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (known.Length != tags.Length)
        {
            return false;
        }

        for (var i = 0; i < known.Length; i++)
        {
            if (known[i].Key != tags[i].Key || !Equals(known[i].Value, tags[i].Value))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>One time series.</summary>
    /// <param name="Labels">As in the text format, without braces; empty for no tags.</param>
    /// <param name="Cell">Its value.</param>
    internal sealed record Series(string Labels, MetricCell Cell);

    private sealed record Entry(int Hash, KeyValuePair<string, object?>[] Tags, MetricCell Cell, Entry? Next);
}
