using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.Records;

/// <summary>
/// A histogram on a <see cref="LogLinearScale"/> of 16 buckets an octave, so a quantile differs by at most 1/32 of its value. Values are
/// unsigned 32-bit numbers in any unit; a bucket can count up to 2^32 − 1. The static members work on plain spans, so that many histograms
/// can be in one array. Not thread-safe.
/// </summary>
internal sealed class LogLinearHistogram
{
    private const int SubBits = 4;
    private const int Sub = 1 << SubBits;

    /// <summary>Number of counters of one histogram.</summary>
    internal const int BucketCount = (32 - SubBits + 1) * Sub;

    private readonly uint[] _counts = new uint[BucketCount];

    /// <summary>Number of values added.</summary>
    internal long Count { get; private set; }

    /// <summary>The largest value added.</summary>
    internal uint Max { get; private set; }

    /// <summary>The bucket of <paramref name="value"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int Index(uint value) => LogLinearScale.Index(value, SubBits);

    /// <summary>The middle of bucket <paramref name="index"/>.</summary>
    internal static uint Middle(int index) => (uint)(LogLinearScale.Low(index, SubBits) + (LogLinearScale.Width(index, SubBits) >> 1));

    /// <summary>
    /// The smallest value at or below which the share <paramref name="q"/> (0 to 1) of <paramref name="total"/> values lies (nearest rank);
    /// 0 when there are none.
    /// </summary>
    internal static uint Quantile(ReadOnlySpan<uint> counts, long total, double q)
    {
        if (total == 0)
        {
            return 0;
        }

        long rank = Math.Clamp((long)Math.Ceiling(q * total), 1, total);
        long seen = 0;
        for (int i = 0; i < counts.Length; i++)
        {
            seen += counts[i];
            if (seen >= rank)
            {
                return Middle(i);
            }
        }

        return Middle(counts.Length - 1);
    }

    internal void Add(uint value)
    {
        _counts[Index(value)]++;
        Count++;
        Max = Math.Max(Max, value);
    }

    /// <summary>See the static overload.</summary>
    internal uint Quantile(double q) => Quantile(_counts, Count, q);

    /// <summary>Adds the values of another histogram.</summary>
    internal void Merge(LogLinearHistogram other)
    {
        for (int i = 0; i < _counts.Length; i++)
        {
            _counts[i] += other._counts[i];
        }

        Count += other.Count;
        Max = Math.Max(Max, other.Max);
    }

    internal void Clear()
    {
        Array.Clear(_counts);
        Count = 0;
        Max = 0;
    }
}
