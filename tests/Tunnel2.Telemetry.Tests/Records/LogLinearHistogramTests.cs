using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Tests.Records;

public sealed class LogLinearHistogramTests
{
    [Fact]
    public void Every_value_lies_within_a_32nd_of_the_middle_of_its_bucket()
    {
        var random = new Random(5);
        int last = -1;
        for (long v = 0; v <= uint.MaxValue; v = v < 100_000 ? v + 1 : (long)(v * 1.0003) + random.Next(3))
        {
            int index = LogLinearHistogram.Index((uint)v);
            Assert.InRange(index, Math.Max(last, 0), LogLinearHistogram.BucketCount - 1);
            last = index;
            Assert.InRange(Math.Abs(v - LogLinearHistogram.Middle(index)), 0, v / 32.0);
        }

        Assert.Equal(LogLinearHistogram.BucketCount - 1, LogLinearHistogram.Index(uint.MaxValue));
    }

    [Fact]
    public void Quantiles_follow_the_sorted_values()
    {
        var random = new Random(6);
        var histogram = new LogLinearHistogram();
        uint[] values = [.. Enumerable.Range(0, 10_000).Select(_ => (uint)Math.Exp(random.NextDouble() * 20))];
        foreach (uint v in values)
        {
            histogram.Add(v);
        }

        Array.Sort(values);
        foreach (double q in new[] { 0, 0.01, 0.5, 0.95, 0.99, 0.999, 1 })
        {
            uint exact = values[Math.Max(0, (int)Math.Ceiling(q * values.Length) - 1)];
            Assert.InRange(histogram.Quantile(q), exact * (1 - (1 / 32.0)) - 1, exact * (1 + (1 / 32.0)) + 1);
        }

        Assert.Equal(values[^1], histogram.Max);
        histogram.Clear();
        Assert.Equal(0u, histogram.Quantile(0.5));
    }

    [Fact]
    public void Two_that_are_merged_are_one_of_all_values()
    {
        var one = new LogLinearHistogram();
        var other = new LogLinearHistogram();
        var all = new LogLinearHistogram();
        for (uint i = 1; i < 10_000; i += 7)
        {
            (i % 2 == 0 ? one : other).Add(i * i);
            all.Add(i * i);
        }

        one.Merge(other);
        Assert.Equal(
            (all.Count, all.Max, all.Quantile(0.5), all.Quantile(0.99)), (one.Count, one.Max, one.Quantile(0.5), one.Quantile(0.99)));
    }
}
