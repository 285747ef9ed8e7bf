using System.Diagnostics.Metrics;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>Chooses the buckets of a histogram: those that its author advised, or those that fit its unit.</summary>
internal static class HistogramBounds
{
    private static readonly double[] _seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

    private static readonly double[] _bytes =
        [64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456, 1073741824];

    private static readonly double[] _other = [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000];

    /// <summary>The upper bounds in rising order, without infinity.</summary>
    public static double[] For(Instrument instrument)
    {
        var advised = instrument switch
        {
            Histogram<double> h => h.Advice?.HistogramBucketBoundaries?.ToArray(),
            Histogram<float> h => h.Advice?.HistogramBucketBoundaries?.Select(bound => (double)bound).ToArray(),
            Histogram<long> h => h.Advice?.HistogramBucketBoundaries?.Select(bound => (double)bound).ToArray(),
            Histogram<int> h => h.Advice?.HistogramBucketBoundaries?.Select(bound => (double)bound).ToArray(),
            _ => null,
        };
        return advised ?? instrument.Unit switch
        {
            "s" => _seconds,
            "By" => _bytes,
            _ => _other,
        };
    }
}
