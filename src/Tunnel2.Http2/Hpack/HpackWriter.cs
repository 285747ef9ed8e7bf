namespace Tunnel2.Http2.Hpack;

/// <summary>
/// Writes one header block into a span. It uses the static table alone, so the blocks of a connection do not depend on each other and may
/// be written by any thread in any order. It never writes outside of the span: <see cref="Overflowed"/> says that it was too small.
/// </summary>
internal ref struct HpackWriter
{
    private const byte Indexed = 0x80;
    private const byte NotAdded = 0x00;
    private const byte NeverAdded = 0x10;
    private const int LongestStaticName = 32;

    private readonly Span<byte> _destination;

    /// <summary>Begins at the start of <paramref name="destination"/>.</summary>
    public HpackWriter(Span<byte> destination)
    {
        _destination = destination;
    }

    /// <summary>Bytes written so far.</summary>
    public int Written { get; private set; }

    /// <summary>Whether the span was too small; the written bytes are then useless.</summary>
    public bool Overflowed { get; private set; }

    /// <summary>Gives up the dynamic table: none is used, for any size that the peer allows. At the beginning of a block.</summary>
    public void WriteNoTable()
    {
        if (TryTake(1, out var taken))
        {
            taken[0] = 0x20;
        }
    }

    /// <summary>Writes a field of the static table.</summary>
    /// <param name="index">Its index.</param>
    public void WriteIndexed(int index)
    {
        if (TryTake(1, out var taken))
        {
            taken[0] = (byte)(Indexed | index);
        }
    }

    /// <summary>Writes a field whose name is in the static table.</summary>
    /// <param name="index">The index of the name.</param>
    /// <param name="value">The value.</param>
    /// <param name="isSecret">Whether no hop may keep it in a table (RFC 7541 section 7.1.3).</param>
    public void WriteField(int index, scoped ReadOnlySpan<byte> value, bool isSecret = false)
    {
        Span<byte> number = stackalloc byte[HpackInteger.MaxLength];
        Write(number[..HpackInteger.Write(number, isSecret ? NeverAdded : NotAdded, 4, index)]);
        WriteString(value);
    }

    /// <summary>Writes a field. The name becomes lower case.</summary>
    /// <param name="name">A token.</param>
    /// <param name="value">The value.</param>
    /// <param name="isSecret">Whether no hop may keep it in a table (RFC 7541 section 7.1.3).</param>
    public void WriteField(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value, bool isSecret = false)
    {
        if (name.Length <= LongestStaticName)
        {
            Span<byte> lower = stackalloc byte[LongestStaticName];
            lower = lower[..name.Length];
            ToLower(name, lower);
            if (HpackStaticTable.IndexOf(lower) is > 0 and var index)
            {
                WriteField(index, value, isSecret);
                return;
            }
        }

        if (TryTake(1, out var pattern))
        {
            pattern[0] = isSecret ? NeverAdded : NotAdded;
        }

        WriteLength(name.Length);
        if (TryTake(name.Length, out var written))
        {
            ToLower(name, written);
        }

        WriteString(value);
    }

    private static void ToLower(ReadOnlySpan<byte> name, Span<byte> lower)
    {
        for (var i = 0; i < name.Length; i++)
        {
            lower[i] = name[i] is >= (byte)'A' and <= (byte)'Z' ? (byte)(name[i] | 0x20) : name[i];
        }
    }

    private void WriteString(scoped ReadOnlySpan<byte> text)
    {
        WriteLength(text.Length);
        Write(text);
    }

    private void WriteLength(int length)
    {
        Span<byte> number = stackalloc byte[HpackInteger.MaxLength];
        Write(number[..HpackInteger.Write(number, 0, 7, length)]);
    }

    private void Write(scoped ReadOnlySpan<byte> bytes)
    {
        if (TryTake(bytes.Length, out var taken))
        {
            bytes.CopyTo(taken);
        }
    }

    private bool TryTake(int length, out Span<byte> taken)
    {
        if (Overflowed || _destination.Length - Written < length)
        {
            Overflowed = true;
            taken = default;
            return false;
        }

        taken = _destination.Slice(Written, length);
        Written += length;
        return true;
    }
}
