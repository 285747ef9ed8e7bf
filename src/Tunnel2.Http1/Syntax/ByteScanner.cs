using System.Buffers;
using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace Tunnel2.Http1.Syntax;

/// <summary>
/// Finds the end of a token, target or field value. Each scan reads 32 bytes at a time if the processor has 256-bit vectors (otherwise
/// <see cref="SearchValues{T}"/> does the work). The last load overlaps the one before, so no byte outside the span is read, and none is
/// read alone. All return the span's length if no such byte is found.
/// </summary>
internal static class ByteScanner
{
    private const int Step = 32;
    private const int Window = 64;

    private static readonly SearchValues<byte> _token =
        SearchValues.Create("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8);

    private static readonly SearchValues<byte> _control = SearchValues.Create(AllWhere(b => (b < 0x20 && b != (byte)'\t') || b == 0x7F));

    private static readonly SearchValues<byte> _notTarget = SearchValues.Create(AllWhere(b => b is <= 0x20 or >= 0x7F or (byte)'#'));

    private static readonly SearchValues<byte> _notTargetOrBackslash =
        SearchValues.Create(AllWhere(b => b is <= 0x20 or >= 0x7F or (byte)'#' or (byte)'\\'));

    /// <summary>
    /// Finds name and end of a usual field line at once. Most lines fit into 64 bytes, and two searches, of which the second must wait for
    /// the first, take twice as long.
    /// </summary>
    /// <param name="bytes">The bytes to scan.</param>
    /// <param name="start">Where the line begins; below the span's length.</param>
    /// <param name="colon">Where its name ends with a colon.</param>
    /// <param name="lineEnd">The first control character except HTAB after the colon, or the span's length.</param>
    /// <returns>
    /// False if the line must be read byte by byte: a name with rare or forbidden characters, or too few bytes for vectors.
    /// </returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool TryScanFieldLine(ReadOnlySpan<byte> bytes, int start, out int colon, out int lineEnd)
    {
        colon = 0;
        lineEnd = 0;
        if (!Vector256.IsHardwareAccelerated || bytes.Length < Window)
        {
            return false;
        }

        // Near the end of the span the window begins before the line, and the bits of those bytes are shifted out.
        int first = Math.Min(start, bytes.Length - Window);
        Look(bytes.Slice(first, Window), out ulong rare, out ulong control);
        rare >>= start - first;
        control >>= start - first;

        int nameLength = BitOperations.TrailingZeroCount(rare);
        colon = start + nameLength;
        if ((uint)colon >= (uint)bytes.Length || bytes[colon] != (byte)':' || nameLength == 0)
        {
            return false;
        }

        lineEnd = control != 0 ? start + BitOperations.TrailingZeroCount(control) : EndOfFieldValue(bytes, first + Window);
        return true;
    }

    // One bit per byte: bytes other than letters, digits and '-', and control characters except HTAB.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Look(ReadOnlySpan<byte> window, out ulong rare, out ulong control)
    {
        if (Vector512.IsHardwareAccelerated)
        {
            Vector512<byte> bytes = Vector512.Create(window);
            ulong letters = Vector512.LessThanOrEqual(
                (bytes | Vector512.Create((byte)0x20)) - Vector512.Create((byte)'a'), Vector512.Create((byte)25))
                .ExtractMostSignificantBits();
            ulong digits = Vector512.LessThanOrEqual(
                bytes - Vector512.Create((byte)'0'), Vector512.Create((byte)9)).ExtractMostSignificantBits();
            rare = ~(letters | digits | Vector512.Equals(bytes, Vector512.Create((byte)'-')).ExtractMostSignificantBits());
            control = (Vector512.LessThan(bytes, Vector512.Create((byte)0x20)).ExtractMostSignificantBits()
                    ^ Vector512.Equals(bytes, Vector512.Create((byte)'\t')).ExtractMostSignificantBits())
                | Vector512.Equals(bytes, Vector512.Create((byte)0x7F)).ExtractMostSignificantBits();
        }
        else
        {
            Vector256<byte> low = Vector256.Create(window);
            Vector256<byte> high = Vector256.Create(window[Step..]);
            rare = ~Join(Alphanumeric(low), Alphanumeric(high));
            control = Join(Control(low), Control(high));
        }
    }

    /// <summary>Index of the first byte from <paramref name="start"/> on that is not a token character (RFC 9110 section 5.6.2).</summary>
    public static int EndOfToken(ReadOnlySpan<byte> bytes, int start)
    {
        if (!Vector256.IsHardwareAccelerated || bytes.Length < Step)
        {
            int found = bytes[start..].IndexOfAnyExcept(_token);
            return found < 0 ? bytes.Length : start + found;
        }

        // The vectors know only letters, digits and '-'. After one of the rarer token characters the scan continues.
        int position = start;
        while (true)
        {
            position = EndOfAlphanumeric(bytes, position);
            if (position == bytes.Length || !_token.Contains(bytes[position]))
            {
                return position;
            }

            position++;
        }
    }

    /// <summary>Index of the first control character except HTAB from <paramref name="start"/> on (RFC 9110 section 5.5).</summary>
    public static int EndOfFieldValue(ReadOnlySpan<byte> bytes, int start)
    {
        if (!Vector256.IsHardwareAccelerated || bytes.Length < Step)
        {
            int found = bytes[start..].IndexOfAny(_control);
            return found < 0 ? bytes.Length : start + found;
        }

        int last = bytes.Length - Step;
        for (; start <= last; start += Step)
        {
            uint hits = Control(Load(bytes, start)).ExtractMostSignificantBits();
            if (hits != 0)
            {
                return start + BitOperations.TrailingZeroCount(hits);
            }
        }

        return start == bytes.Length ? start : InTail(Control(Load(bytes, last)), start, last);
    }

    /// <summary>
    /// Index of the first byte from <paramref name="start"/> on that a request target cannot have: any except visible ASCII, <c>#</c>, and
    /// a backslash before the query, which many programs read as a slash.
    /// </summary>
    /// <param name="bytes">The bytes to look at.</param>
    /// <param name="start">Where to begin.</param>
    /// <param name="targetStart">Where the target began, if a part of it was scanned before.</param>
    public static int EndOfTarget(ReadOnlySpan<byte> bytes, int start, int targetStart)
    {
        int end = EndOfTargetOrBackslash(bytes, start);
        if (end == bytes.Length || bytes[end] != (byte)'\\' || !bytes[targetStart..end].Contains((byte)'?'))
        {
            return end;
        }

        // Rare. From here on a backslash is an ordinary byte, and one slower search does the rest.
        int found = bytes[end..].IndexOfAny(_notTarget);
        return found < 0 ? bytes.Length : end + found;
    }

    private static int EndOfTargetOrBackslash(ReadOnlySpan<byte> bytes, int start)
    {
        if (!Vector256.IsHardwareAccelerated || bytes.Length < Step)
        {
            int found = bytes[start..].IndexOfAny(_notTargetOrBackslash);
            return found < 0 ? bytes.Length : start + found;
        }

        int last = bytes.Length - Step;
        for (; start <= last; start += Step)
        {
            uint hits = NotTarget(Load(bytes, start)).ExtractMostSignificantBits();
            if (hits != 0)
            {
                return start + BitOperations.TrailingZeroCount(hits);
            }
        }

        return start == bytes.Length ? start : InTail(NotTarget(Load(bytes, last)), start, last);
    }

    /// <summary>Whether all bytes may be in a token; true for none.</summary>
    public static bool AreToken(ReadOnlySpan<byte> bytes) =>
        (TryGather(bytes, out Vector256<byte> gathered) && Alphanumeric(gathered) == Vector256<byte>.AllBitsSet)
        || EndOfToken(bytes, 0) == bytes.Length;

    /// <summary>Whether no byte is a control character except HTAB.</summary>
    public static bool AreFieldValue(ReadOnlySpan<byte> bytes) => TryGather(bytes, out Vector256<byte> gathered)
        ? Control(gathered) == Vector256<byte>.Zero
        : EndOfFieldValue(bytes, 0) == bytes.Length;

    /// <summary>Whether <paramref name="b"/> may be in a token.</summary>
    public static bool IsTokenByte(byte b) => _token.Contains(b);

    /// <summary>Whether <paramref name="b"/> is a control character except HTAB.</summary>
    public static bool IsControlByte(byte b) => _control.Contains(b);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int EndOfAlphanumeric(ReadOnlySpan<byte> bytes, int start)
    {
        int last = bytes.Length - Step;
        for (; start <= last; start += Step)
        {
            uint hits = ~Alphanumeric(Load(bytes, start)).ExtractMostSignificantBits();
            if (hits != 0)
            {
                return start + BitOperations.TrailingZeroCount(hits);
            }
        }

        return start == bytes.Length ? start : InTail(~Alphanumeric(Load(bytes, last)), start, last);
    }

    // The vector was loaded at 'last'; the bytes before 'start' (1 to 31 of them) were scanned before.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int InTail(Vector256<byte> hits, int start, int last)
    {
        uint unseen = hits.ExtractMostSignificantBits() >> (start - last);
        return unseen == 0 ? last + Step : start + BitOperations.TrailingZeroCount(unseen);
    }

    // Loads all bytes of a short span into one vector, some of them twice: enough to check that all are valid.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool TryGather(ReadOnlySpan<byte> bytes, out Vector256<byte> gathered)
    {
        gathered = default;
        if (!Vector256.IsHardwareAccelerated || bytes.Length is < 4 or > Step)
        {
            return false;
        }

        if (bytes.Length >= 16)
        {
            gathered = Vector256.Create(Vector128.Create(bytes), Vector128.Create(bytes[^16..]));
        }
        else if (bytes.Length >= 8)
        {
            ulong first = BinaryPrimitives.ReadUInt64LittleEndian(bytes);
            gathered = Vector256.Create(Vector128.Create(first, BinaryPrimitives.ReadUInt64LittleEndian(bytes[^8..]))).AsByte();
        }
        else
        {
            ulong first = BinaryPrimitives.ReadUInt32LittleEndian(bytes);
            gathered = Vector256.Create(first | ((ulong)BinaryPrimitives.ReadUInt32LittleEndian(bytes[^4..]) << 32)).AsByte();
        }

        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Join(Vector256<byte> low, Vector256<byte> high) =>
        low.ExtractMostSignificantBits() | ((ulong)high.ExtractMostSignificantBits() << 32);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector256<byte> Load(ReadOnlySpan<byte> bytes, int start) => Vector256.Create(bytes.Slice(start, Step));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector256<byte> Control(Vector256<byte> bytes)
    {
        // HTAB is among the low bytes; exclusive or removes it.
        Vector256<byte> low = AtMost(bytes, 0x1F) ^ Vector256.Equals(bytes, Vector256.Create((byte)'\t'));
        return low | Vector256.Equals(bytes, Vector256.Create((byte)0x7F));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector256<byte> NotTarget(Vector256<byte> bytes)
    {
        Vector256<byte> visible = AtMost(bytes - Vector256.Create((byte)0x21), 0x7E - 0x21);
        return ~visible | Vector256.Equals(bytes, Vector256.Create((byte)'#')) | Vector256.Equals(bytes, Vector256.Create((byte)'\\'));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector256<byte> Alphanumeric(Vector256<byte> bytes)
    {
        Vector256<byte> letters = AtMost((bytes | Vector256.Create((byte)0x20)) - Vector256.Create((byte)'a'), 25);
        Vector256<byte> digits = AtMost(bytes - Vector256.Create((byte)'0'), 9);
        return letters | digits | Vector256.Equals(bytes, Vector256.Create((byte)'-'));
    }

    // An unsigned comparison made of two instructions that AVX2 has.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static Vector256<byte> AtMost(Vector256<byte> bytes, byte limit) =>
        Vector256.Equals(Vector256.Min(bytes, Vector256.Create(limit)), bytes);

    private static byte[] AllWhere(Func<byte, bool> condition)
    {
        var bytes = new List<byte>(256);
        for (int b = 0; b < 256; b++)
        {
            if (condition((byte)b))
            {
                bytes.Add((byte)b);
            }
        }

        return [.. bytes];
    }
}
