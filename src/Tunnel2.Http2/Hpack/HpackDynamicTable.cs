namespace Tunnel2.Http2.Hpack;

/// <summary>
/// The fields that the peer has added to its compression (RFC 7541 section 2.3.2), the newest first. Their bytes lie one after the other
/// in one array, so an entry costs no allocation. Not thread-safe.
/// </summary>
/// <param name="maxSize">How much the peer may use at most, in the bytes of RFC 7541 section 4.1: what SETTINGS allow.</param>
internal sealed class HpackDynamicTable(int maxSize)
{
    /// <summary>What an entry counts beside its bytes.</summary>
    public const int Overhead = 32;

    private readonly int _maxSize = maxSize;
    private Entry[] _entries = [];
    private byte[] _bytes = [];
    private int _oldest;
    private int _end;

    /// <summary>How many entries there are.</summary>
    public int Count { get; private set; }

    /// <summary>The size of all entries.</summary>
    public int Size { get; private set; }

    /// <summary>How large it may be now.</summary>
    public int Limit { get; private set; } = maxSize;

    /// <summary>Changes the limit, and drops what has no room any more.</summary>
    /// <returns>False when it is more than SETTINGS allow.</returns>
    public bool TryResize(int limit)
    {
        if (limit > _maxSize)
        {
            return false;
        }

        Limit = limit;
        DropTo(limit);
        return true;
    }

    /// <summary>The field of an entry; the spans are valid until the next <see cref="Add"/>.</summary>
    /// <param name="index">0 (the newest) to <see cref="Count"/> - 1.</param>
    /// <param name="name">Its name.</param>
    /// <param name="value">Its value.</param>
    public void Get(int index, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        ref readonly var entry = ref _entries[(_oldest + Count - 1 - index) % _entries.Length];
        name = _bytes.AsSpan(entry.Offset, entry.NameLength);
        value = _bytes.AsSpan(entry.Offset + entry.NameLength, entry.ValueLength);
    }

    /// <summary>Adds a field; older ones make room for it. One that is larger than the table empties it.</summary>
    /// <param name="name">Its name; must not lie in the table.</param>
    /// <param name="value">Its value; must not lie in the table.</param>
    public void Add(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        var length = name.Length + value.Length;
        DropTo(Limit - length - Overhead);
        if (length + Overhead > Limit)
        {
            return;
        }

        if (_bytes.Length == 0)
        {
            // Twice the room: entries are moved together only after as many bytes were added as the table holds.
            _bytes = new byte[2 * _maxSize];
            _entries = new Entry[_maxSize / Overhead];
        }

        if (_end + length > _bytes.Length)
        {
            MoveTogether();
        }

        name.CopyTo(_bytes.AsSpan(_end));
        value.CopyTo(_bytes.AsSpan(_end + name.Length));
        _entries[(_oldest + Count) % _entries.Length] = new Entry(_end, name.Length, value.Length);
        Count++;
        Size += length + Overhead;
        _end += length;
    }

    private void DropTo(int size)
    {
        while (Count > 0 && Size > size)
        {
            ref readonly var entry = ref _entries[_oldest];
            Size -= entry.NameLength + entry.ValueLength + Overhead;
            _oldest = (_oldest + 1) % _entries.Length;
            Count--;
        }

        if (Count == 0)
        {
            _end = 0;
        }
    }

    private void MoveTogether()
    {
        var start = Count == 0 ? _end : _entries[_oldest].Offset;
        _bytes.AsSpan(start, _end - start).CopyTo(_bytes);
        _end -= start;
        for (var i = 0; i < Count; i++)
        {
            ref var entry = ref _entries[(_oldest + i) % _entries.Length];
            entry = entry with { Offset = entry.Offset - start };
        }
    }

    private readonly record struct Entry(int Offset, int NameLength, int ValueLength);
}
