namespace Tunnel2.Http1;

/// <summary>
/// The position of a field line's name and value, relative to the start of the parsed buffer, and the known field that it is. The value has
/// no whitespace around it. 16 bytes, so that a head's fields need few cache lines.
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

    /// <summary>The known field, if it is one of those that a proxy treats specially.</summary>
    public KnownField Known => (KnownField)(byte)_nameLengthAndKnown;

    /// <summary>The name's bytes in the parsed buffer.</summary>
    public ReadOnlySpan<byte> Name(ReadOnlySpan<byte> buffer) => buffer.Slice(NameOffset, NameLength);

    /// <summary>The value's bytes in the parsed buffer.</summary>
    public ReadOnlySpan<byte> Value(ReadOnlySpan<byte> buffer) => buffer.Slice(ValueOffset, ValueLength);

    /// <summary>The same field in a buffer that has <paramref name="delta"/> more bytes at its start.</summary>
    public FieldRange Shift(int delta) => new(NameOffset + delta, NameLength, ValueOffset + delta, ValueLength, Known);
}
