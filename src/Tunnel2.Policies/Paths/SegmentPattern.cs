namespace Tunnel2.Policies.Paths;

/// <summary>Compares one segment of a path with one of a pattern. Pure; allocates nothing.</summary>
internal static class SegmentPattern
{
    /// <summary>Whether a segment matches.</summary>
    /// <param name="pattern">Bytes in which <c>*</c> matches any number of bytes; alone, at least one.</param>
    /// <param name="segment">The segment.</param>
    /// <param name="ignoresCase">Whether the case of ASCII counts.</param>
    public static bool Matches(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> segment, bool ignoresCase)
    {
        var star = pattern.IndexOf((byte)'*');
        if (star < 0)
        {
            return AreEqual(pattern, segment, ignoresCase);
        }

        if (pattern.Length == 1)
        {
            return !segment.IsEmpty;
        }

        // What is before the first and after the last wildcard has its place; each piece between takes the first place that it finds.
        var last = pattern.LastIndexOf((byte)'*');
        var tail = pattern[(last + 1)..];
        if (segment.Length < star + tail.Length
            || !AreEqual(pattern[..star], segment[..star], ignoresCase)
            || !AreEqual(tail, segment[^tail.Length..], ignoresCase))
        {
            return false;
        }

        var rest = segment[star..^tail.Length];
        var pieces = star == last ? default : pattern[(star + 1)..last];
        while (!pieces.IsEmpty)
        {
            var end = pieces.IndexOf((byte)'*');
            var piece = end < 0 ? pieces : pieces[..end];
            pieces = end < 0 ? default : pieces[(end + 1)..];
            var at = IndexOf(rest, piece, ignoresCase);
            if (at < 0)
            {
                return false;
            }

            rest = rest[(at + piece.Length)..];
        }

        return true;
    }

    /// <summary>Whether one of the segments has a wildcard.</summary>
    public static bool ContainsAnyWildcard(this ReadOnlySpan<byte[]> segments)
    {
        foreach (var segment in segments)
        {
            if (segment.AsSpan().Contains((byte)'*'))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The same for a span that can be written.</summary>
    public static bool ContainsAnyWildcard(this Span<byte[]> segments) => ((ReadOnlySpan<byte[]>)segments).ContainsAnyWildcard();

    private static bool AreEqual(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right, bool ignoresCase) =>
        left.SequenceEqual(right) || (ignoresCase && left.Length == right.Length && EqualsIgnoringCase(left, right));

    private static int IndexOf(ReadOnlySpan<byte> text, ReadOnlySpan<byte> piece, bool ignoresCase)
    {
        if (!ignoresCase)
        {
            return text.IndexOf(piece);
        }

        for (var i = 0; i + piece.Length <= text.Length; i++)
        {
            if (EqualsIgnoringCase(text.Slice(i, piece.Length), piece))
            {
                return i;
            }
        }

        return -1;
    }

    /// <summary>The case of ASCII alone. The methods of .NET take no other bytes.</summary>
    private static bool EqualsIgnoringCase(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right)
    {
        for (var i = 0; i < left.Length; i++)
        {
            if (left[i] != right[i] && Lower(left[i]) != Lower(right[i]))
            {
                return false;
            }
        }

        return true;
    }

    private static int Lower(byte value) => value is >= (byte)'A' and <= (byte)'Z' ? value | 0x20 : value;
}
