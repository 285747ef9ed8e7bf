using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>The observations of one tag set of a histogram. Recording is lock-free and allocates nothing.</summary>
internal sealed class HistogramCell : MetricCell
{
    private readonly double[] _bounds;

    /// <summary>A counter for each bucket, and one for the sum. Every request is observed.</summary>
    private readonly StripedCounters _counters;

    /// <param name="bounds">The upper bounds in rising order, without infinity; shared by all cells of an instrument.</param>
    public HistogramCell(double[] bounds)
    {
        _bounds = bounds;
        _counters = new StripedCounters(bounds.Length + 2);
    }

    /// <summary>The sum of all observations.</summary>
    public double Sum => _counters.SumOfFractions(_bounds.Length + 1);

    /// <summary>Records an observation. NaN is dropped, because the sum would then stay NaN.</summary>
    public void Observe(double value)
    {
        if (double.IsNaN(value))
        {
            return;
        }

        // Bounds are inclusive: a value equal to a bound belongs to that bucket. With a dozen bounds, a linear search beats a binary one.
        var bucket = 0;
        while (bucket < _bounds.Length && value > _bounds[bucket])
        {
            bucket++;
        }

        _counters.Add(bucket, 1);
        _counters.AddFraction(_bounds.Length + 1, value);
    }

    /// <summary>How many observations are in a bucket; the last bucket has those above the highest bound.</summary>
    public long GetCount(int bucket) => _counters.Sum(bucket);
}
