using Tunnel2.Telemetry.Records;

namespace Tunnel2.LoadTests.Statistics;

/// <summary>
/// Counts times on a <see cref="LogLinearScale"/> with buckets that are at most 1/64 of their value wide (below 128 ns: exact), from 0 to
/// 18 minutes. The live plane's histogram has a quarter of that resolution, for many of them lie in memory. Recording neither allocates
/// nor locks. Not thread-safe.
/// </summary>
internal sealed class LatencyHistogram
{
    private const int SubBucketBits = 6;
    private const int SubBuckets = 1 << SubBucketBits;
    private const int MaxBits = 40;

    private readonly long[] _counts = new long[((MaxBits - SubBucketBits) * SubBuckets) + SubBuckets];
    private double _sum;

    /// <summary>The longest time that is distinguished, in nanoseconds; longer ones count as this.</summary>
    public const long MaxNanoseconds = (1L << MaxBits) - 1;

    /// <summary>Recorded times.</summary>
    public long Count { get; private set; }

    /// <summary>The shortest, exactly, in nanoseconds; 0 when there is none.</summary>
    public long Min { get; private set; }

    /// <summary>The longest, exactly, in nanoseconds.</summary>
    public long Max { get; private set; }

    /// <summary>The mean, exactly, in nanoseconds.</summary>
    public double Mean => Count == 0 ? 0 : _sum / Count;

    /// <summary>The mean as a time.</summary>
    public TimeSpan MeanTime => TimeSpan.FromTicks((long)(Mean / 100));

    /// <summary>Records a time.</summary>
    /// <param name="nanoseconds">The time; a negative one counts as 0.</param>
    public void Record(long nanoseconds)
    {
        var value = Math.Clamp(nanoseconds, 0, MaxNanoseconds);
        _counts[LogLinearScale.Index((ulong)value, SubBucketBits)]++;
        Min = Count == 0 ? value : Math.Min(Min, value);
        Max = Math.Max(Max, value);
        Count++;
        _sum += value;
    }

    /// <summary>Adds what another histogram has.</summary>
    public void Add(LatencyHistogram other)
    {
        if (other.Count == 0)
        {
            return;
        }

        for (var i = 0; i < _counts.Length; i++)
        {
            _counts[i] += other._counts[i];
        }

        Min = Count == 0 ? other.Min : Math.Min(Min, other.Min);
        Max = Math.Max(Max, other.Max);
        Count += other.Count;
        _sum += other._sum;
    }

    /// <summary>Forgets everything.</summary>
    public void Clear()
    {
        if (Count > 0)
        {
            Array.Clear(_counts);
            (Count, Min, Max, _sum) = (0, 0, 0, 0);
        }
    }

    /// <summary>The time within which this share of all were: the upper edge of its bucket, never more than <see cref="Max"/>.</summary>
    /// <param name="share">0 to 1.</param>
    /// <returns>Nanoseconds; 0 when nothing was recorded.</returns>
    public long Percentile(double share)
    {
        if (Count == 0)
        {
            return 0;
        }

        var rank = Math.Max(1, (long)Math.Ceiling(share * Count));
        long seen = 0;
        for (var i = 0; i < _counts.Length; i++)
        {
            seen += _counts[i];
            if (seen >= rank)
            {
                return Math.Min(UpperEdge(i), Max);
            }
        }

        return Max;
    }

    /// <summary>The same as a time.</summary>
    public TimeSpan PercentileTime(double share) => TimeSpan.FromTicks(Percentile(share) / 100);

    private static long UpperEdge(int index) =>
        (long)(LogLinearScale.Low(index, SubBucketBits) + LogLinearScale.Width(index, SubBucketBits)) - 1;
}
