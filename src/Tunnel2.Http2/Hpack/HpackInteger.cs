namespace Tunnel2.Http2.Hpack;

/// <summary>Integers with a prefix (RFC 7541 section 5.1). No number in a bounded header block needs more than 28 bits.</summary>
internal static class HpackInteger
{
    /// <summary>The maximum number of bytes that a written number takes.</summary>
    public const int MaxLength = 6;

    private const int MaxShift = 21;

    /// <summary>Reads a number and removes it from the source.</summary>
    /// <param name="source">The rest of the block, not empty.</param>
    /// <param name="prefix">Bits of the first byte that belong to the number, 4 to 7.</param>
    /// <param name="value">The number.</param>
    /// <returns>False when it is cut off, or longer than any that is meant well.</returns>
    public static bool TryRead(scoped ref ReadOnlySpan<byte> source, int prefix, out int value)
    {
        var mask = (1 << prefix) - 1;
        value = source[0] & mask;
        source = source[1..];
        if (value < mask)
        {
            return true;
        }

        for (var shift = 0; shift <= MaxShift && !source.IsEmpty; shift += 7)
        {
            var next = source[0];
            source = source[1..];
            value += (next & 0x7f) << shift;
            if (next < 0x80)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Writes a number.</summary>
    /// <param name="destination">At least <see cref="MaxLength"/> bytes.</param>
    /// <param name="pattern">The bits in front of the prefix.</param>
    /// <param name="prefix">Bits of the first byte that belong to the number.</param>
    /// <param name="value">0 or more.</param>
    /// <returns>Bytes written.</returns>
    public static int Write(Span<byte> destination, byte pattern, int prefix, int value)
    {
        var mask = (1 << prefix) - 1;
        if (value < mask)
        {
            destination[0] = (byte)(pattern | value);
            return 1;
        }

        destination[0] = (byte)(pattern | mask);
        var written = 1;
        for (value -= mask; value >= 0x80; value >>= 7)
        {
            destination[written++] = (byte)(value | 0x80);
        }

        destination[written++] = (byte)value;
        return written;
    }
}
