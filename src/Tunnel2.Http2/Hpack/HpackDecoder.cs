namespace Tunnel2.Http2.Hpack;

/// <summary>
/// Reads the header blocks of one connection (RFC 7541). A block is read field by field and always to its end, because the peer's
/// compression continues with what each block has added. The work for a block is in proportion to its compressed bytes, however many fields
/// they represent. Not thread-safe.
/// </summary>
/// <param name="tableSize">The table that SETTINGS allow the peer.</param>
internal sealed class HpackDecoder(int tableSize = HpackDecoder.DefaultTableSize)
{
    /// <summary>The table that a peer may use before SETTINGS say otherwise.</summary>
    public const int DefaultTableSize = 4096;

    /// <summary>
    /// How many bytes of the table a byte of a block may have copied. Two bytes can name a field of the whole table and add it again;
    /// honest blocks have a few bytes copied for each of their own.
    /// </summary>
    private const int CopiesPerByte = 16;

    /// <summary>A scratch buffer that became larger for one block is let go after it.</summary>
    private const int KeptScratch = 2 * DefaultTableSize;

    private readonly HpackDynamicTable _table = new(tableSize);
    private byte[] _scratch = [];
    private int _scratchUsed;
    private long _copies;
    private bool _mayResize;

    /// <summary>A block begins: only at its beginning the peer may change the size of its table.</summary>
    /// <param name="length">Its compressed bytes. Names and fields of the table that it has copied are bounded by them.</param>
    public void Begin(int length)
    {
        _mayResize = true;
        _copies = (CopiesPerByte * (long)length) + (2 * DefaultTableSize);
        if (_scratch.Length > KeptScratch)
        {
            _scratch = [];
        }
    }

    /// <summary>Reads the next field.</summary>
    /// <param name="block">The rest of the block; what was read is removed.</param>
    /// <param name="name">The field's name as the peer wrote it, valid until the next call.</param>
    /// <param name="value">The field's value, valid until the next call.</param>
    public HpackStatus TryRead(scoped ref ReadOnlySpan<byte> block, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        name = default;
        value = default;
        _scratchUsed = 0;
        while (!block.IsEmpty)
        {
            var first = block[0];
            if ((first & 0x80) != 0)
            {
                // Section 6.1: a field of a table.
                _mayResize = false;
                return HpackInteger.TryRead(ref block, 7, out var index) && TryGet(index, out name, out value)
                    ? HpackStatus.Field
                    : HpackStatus.Broken;
            }

            if ((first & 0xe0) == 0x20)
            {
                // Section 6.3: a change of the table's size.
                if (!_mayResize || !HpackInteger.TryRead(ref block, 5, out var size) || !_table.TryResize(size))
                {
                    return HpackStatus.Broken;
                }

                continue;
            }

            // Section 6.2: a field that is written out, with or without being added.
            _mayResize = false;
            var isAdded = (first & 0xc0) == 0x40;
            if (!TryReadLiteral(ref block, isAdded ? 6 : 4, out name, out value))
            {
                return HpackStatus.Broken;
            }

            if (isAdded)
            {
                _copies -= name.Length + value.Length;
                _table.Add(name, value);
            }

            if (_copies < 0)
            {
                return HpackStatus.Broken;
            }

            return HpackStatus.Field;
        }

        return HpackStatus.End;
    }

    private bool TryReadLiteral(
        scoped ref ReadOnlySpan<byte> block, int prefix, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        name = default;
        value = default;
        if (!HpackInteger.TryRead(ref block, prefix, out var index))
        {
            return false;
        }

        // Room for all that may be decoded: the spans must not move.
        Reserve(HpackHuffman.MaxDecodedLength(block.Length) + _table.Limit);
        if (index == 0)
        {
            if (!TryReadString(ref block, out name))
            {
                return false;
            }
        }
        else if (!TryGet(index, out name, out _))
        {
            return false;
        }
        else if (index > HpackStaticTable.Count)
        {
            // Adding this field may push out the one that its name is from (section 4.4).
            var copy = _scratch.AsSpan(_scratchUsed, name.Length);
            name.CopyTo(copy);
            _copies -= name.Length;
            _scratchUsed += name.Length;
            name = copy;
        }

        return TryReadString(ref block, out value);
    }

    /// <summary>Reads a string (section 5.2).</summary>
    private bool TryReadString(scoped ref ReadOnlySpan<byte> block, out ReadOnlySpan<byte> text)
    {
        text = default;
        if (block.IsEmpty)
        {
            return false;
        }

        var isCoded = (block[0] & 0x80) != 0;
        if (!HpackInteger.TryRead(ref block, 7, out var length) || length > block.Length)
        {
            return false;
        }

        text = block[..length];
        block = block[length..];
        if (!isCoded)
        {
            return true;
        }

        var decoded = HpackHuffman.Decode(text, _scratch.AsSpan(_scratchUsed));
        if (decoded < 0)
        {
            return false;
        }

        text = _scratch.AsSpan(_scratchUsed, decoded);
        _scratchUsed += decoded;
        return true;
    }

    private bool TryGet(int index, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        name = default;
        value = default;
        if (index == 0 || index > HpackStaticTable.Count + _table.Count)
        {
            return false;
        }

        if (index <= HpackStaticTable.Count)
        {
            HpackStaticTable.Get(index, out name, out value);
        }
        else
        {
            _table.Get(index - HpackStaticTable.Count - 1, out name, out value);
        }

        return true;
    }

    private void Reserve(int size)
    {
        if (_scratch.Length < size)
        {
            _scratch = new byte[Math.Max(size, KeptScratch)];
        }
    }
}
