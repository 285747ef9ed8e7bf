using System.Diagnostics;
using System.Numerics;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>Counts durations in buckets of about 6 %: sixteen to each doubling. Not thread-safe.</summary>
internal sealed class LatencyHistogram
{
    private const int Parts = 16;

    private readonly long[] _buckets = new long[64 * Parts];
    private long _count;

    /// <param name="ticks">Of <see cref="Stopwatch"/>.</param>
    public void Add(long ticks)
    {
        _buckets[Index(Math.Max(ticks, Parts))]++;
        _count++;
    }

    /// <summary>The duration that a share of all did not exceed.</summary>
    public TimeSpan Percentile(double share)
    {
        var left = (long)Math.Ceiling(_count * share);
        for (var i = 0; i < _buckets.Length; i++)
        {
            left -= _buckets[i];
            if (left <= 0)
            {
                var exponent = i / Parts;
                return TimeSpan.FromSeconds((Parts + (i % Parts) + 1) * Math.Pow(2, exponent) / Stopwatch.Frequency);
            }
        }

        return TimeSpan.Zero;
    }

    private static int Index(long ticks)
    {
        var exponent = BitOperations.Log2((ulong)ticks) - 4;
        return (exponent * Parts) + (int)((ticks >> exponent) - Parts);
    }
}
