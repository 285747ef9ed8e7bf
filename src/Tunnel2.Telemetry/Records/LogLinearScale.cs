using System.Numerics;
using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.Records;

/// <summary>
/// Buckets that are linear within each power of two (the scheme of HdrHistogram): 2^bits of them an octave. So a bucket's width is at most
/// 1/2^bits of its values, and below 2^(bits + 1) it has a single value. Pure.
/// </summary>
internal static class LogLinearScale
{
    /// <summary>The bucket of <paramref name="value"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int Index(ulong value, int bits)
    {
        int shift = BitOperations.Log2(value | (1UL << bits)) - bits;
        return (shift << bits) + (int)(value >> shift);
    }

    /// <summary>The lowest value of bucket <paramref name="index"/>.</summary>
    internal static ulong Low(int index, int bits)
    {
        int shift = Shift(index, bits);
        return (ulong)(index - (shift << bits)) << shift;
    }

    /// <summary>The number of values in bucket <paramref name="index"/>.</summary>
    internal static ulong Width(int index, int bits) => 1UL << Shift(index, bits);

    private static int Shift(int index, int bits) => Math.Max(0, (index >> bits) - 1);
}
