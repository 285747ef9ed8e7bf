using System.Buffers.Binary;
using System.Runtime.CompilerServices;

namespace Tunnel2.Http1.Syntax;

/// <summary>Case-insensitive comparison with constants, a word at a time.</summary>
internal static class AsciiCase
{
    private const ulong CaseBits = 0x2020_2020_2020_2020;

    /// <summary>
    /// Whether <paramref name="value"/> equals <paramref name="lower"/>, ignoring ASCII case. The constant may have lower-case letters,
    /// digits and bytes below 0x40 such as <c>-</c>.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool EqualsLower(ReadOnlySpan<byte> value, ReadOnlySpan<byte> lower)
    {
        if (value.Length != lower.Length)
        {
            return false;
        }

        if (value.Length >= 8)
        {
            return EqualsLongLower(value, lower);
        }

        if (value.Length >= 4)
        {
            return SameWord(ReadUInt32(value, 0), ReadUInt32(lower, 0))
                && SameWord(ReadUInt32(value, value.Length - 4), ReadUInt32(lower, lower.Length - 4));
        }

        for (int i = 0; i < value.Length; i++)
        {
            if (!SameWord(value[i], lower[i]))
            {
                return false;
            }
        }

        return true;
    }

    private static bool EqualsLongLower(ReadOnlySpan<byte> value, ReadOnlySpan<byte> lower)
    {
        int last = value.Length - 8;
        for (int i = 0; i < last; i += 8)
        {
            if (!SameWord(ReadUInt64(value, i), ReadUInt64(lower, i)))
            {
                return false;
            }
        }

        return SameWord(ReadUInt64(value, last), ReadUInt64(lower, last));
    }

    // Letters have bit 0x40 set and differ only in bit 0x20; digits and '-' have bit 0x40 clear. So half of each constant byte, cut to bit
    // 0x20, is the bit that may be ignored. The comparison is exact also for other bytes ('\r' is not taken for '-').
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool SameWord(ulong value, ulong lower) => (value | ((lower >> 1) & CaseBits)) == lower;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint ReadUInt32(ReadOnlySpan<byte> bytes, int offset) => BinaryPrimitives.ReadUInt32LittleEndian(bytes[offset..]);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong ReadUInt64(ReadOnlySpan<byte> bytes, int offset) => BinaryPrimitives.ReadUInt64LittleEndian(bytes[offset..]);
}
