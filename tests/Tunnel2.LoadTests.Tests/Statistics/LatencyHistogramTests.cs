using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Tests.Statistics;

public sealed class LatencyHistogramTests
{
    private const double BucketWidth = 1.0 / 64;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(63)]
    [InlineData(64)]
    [InlineData(127)]
    [InlineData(128)]
    [InlineData(129)]
    [InlineData(4096)]
    [InlineData(999_999_999)]
    [InlineData(LatencyHistogram.MaxNanoseconds)]
    public void A_single_time_is_every_percentile_exactly(long nanoseconds)
    {
        var histogram = new LatencyHistogram();

        histogram.Record(nanoseconds);

        Assert.All([0.0, 0.5, 0.99, 1.0], share => Assert.Equal(nanoseconds, histogram.Percentile(share)));
        Assert.Equal((nanoseconds, nanoseconds), (histogram.Min, histogram.Max));
    }

    [Theory]
    [InlineData(11)]
    [InlineData(12)]
    [InlineData(13)]
    public void A_percentile_is_never_below_the_true_one_and_at_most_a_bucket_above_it(int seed)
    {
        var random = new Random(seed);
        var histogram = new LatencyHistogram();
        var values = Enumerable.Range(0, 20_000).Select(_ => (long)Math.Pow(2, random.NextDouble() * 39.9)).ToArray();

        foreach (var value in values)
        {
            histogram.Record(value);
        }

        Array.Sort(values);
        foreach (var share in new[] { 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1 })
        {
            var exact = values[Math.Max(0, (int)Math.Ceiling(share * values.Length) - 1)];
            Assert.InRange(histogram.Percentile(share), exact, exact * (1 + BucketWidth));
        }

        Assert.Equal(values.Average(), histogram.Mean, values.Average() * 1e-9);
    }

    [Fact]
    public void What_is_out_of_range_counts_as_the_nearest_that_is_in_it()
    {
        var histogram = new LatencyHistogram();

        histogram.Record(-5);
        histogram.Record(long.MaxValue);

        Assert.Equal((2L, 0L, LatencyHistogram.MaxNanoseconds), (histogram.Count, histogram.Min, histogram.Max));
    }

    [Fact]
    public void Two_added_up_are_as_one_that_saw_everything()
    {
        var random = new Random(3);
        var (left, right, both) = (new LatencyHistogram(), new LatencyHistogram(), new LatencyHistogram());
        for (var i = 0; i < 1000; i++)
        {
            var value = random.NextInt64(1, 1_000_000_000);
            (i % 3 == 0 ? left : right).Record(value);
            both.Record(value);
        }

        left.Add(right);

        Assert.Equal((both.Count, both.Min, both.Max), (left.Count, left.Min, left.Max));
        Assert.All([0.1, 0.5, 0.9, 0.99], share => Assert.Equal(both.Percentile(share), left.Percentile(share)));
    }

    [Fact]
    public void A_cleared_one_is_empty()
    {
        var histogram = new LatencyHistogram();
        histogram.Record(77);

        histogram.Clear();

        Assert.Equal((0L, 0L, 0L, 0.0), (histogram.Count, histogram.Max, histogram.Percentile(0.99), histogram.Mean));
    }
}
