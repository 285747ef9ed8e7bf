namespace Tunnel2.Http1;

/// <summary>
/// Where one field line's name and value are, relative to the start of the buffer that was parsed, and which field it is.
/// The value is without the whitespace around it. 16 bytes, so that a head's fields stay in few cache lines.
/// </summary>
internal readonly struct FieldRange
{
    private readonly uint _nameLengthAndKnown;

    /// <summary>Makes a range; <paramref name="nameLength"/> must be below 2^24.</summary>
    public FieldRange(int nameOffset, int nameLength, int valueOffset, int valueLength, KnownField known)
    {
        NameOffset = nameOffset;
        ValueOffset = valueOffset;
        ValueLength = valueLength;
        _nameLengthAndKnown = ((uint)nameLength << 8) | (byte)known;
    }

    /// <summary>Index of the name's first byte.</summary>
    public int NameOffset { get; }

    /// <summary>Number of bytes of the name, at least one.</summary>
    public int NameLength => (int)(_nameLengthAndKnown >> 8);

    /// <summary>Index of the value's first byte.</summary>
    public int ValueOffset { get; }

    /// <summary>Number of bytes of the value; may be zero.</summary>
    public int ValueLength { get; }

    /// <summary>Which of the fields that a proxy treats specially this is.</summary>
    public KnownField Known => (KnownField)(byte)_nameLengthAndKnown;

    /// <summary>The name's bytes, out of the buffer that was parsed.</summary>
    public ReadOnlySpan<byte> Name(ReadOnlySpan<byte> buffer) => buffer.Slice(NameOffset, NameLength);

    /// <summary>The value's bytes, out of the buffer that was parsed.</summary>
    public ReadOnlySpan<byte> Value(ReadOnlySpan<byte> buffer) => buffer.Slice(ValueOffset, ValueLength);

    /// <summary>The same field in a buffer that has <paramref name="delta"/> more bytes in front.</summary>
    public FieldRange Shift(int delta) => new(NameOffset + delta, NameLength, ValueOffset + delta, ValueLength, Known);
}
