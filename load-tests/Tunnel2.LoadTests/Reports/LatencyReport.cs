using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Reports;

/// <summary>A distribution of times, in milliseconds.</summary>
internal sealed record LatencyReport(
    long Count, double Min, double Mean, double P50, double P75, double P90, double P95, double P99, double P999, double P9999, double Max)
{
    /// <summary>Takes it from a histogram.</summary>
    public static LatencyReport Of(LatencyHistogram histogram)
    {
        double At(double share) => Round(histogram.Percentile(share));
        return new LatencyReport(
            histogram.Count, Round(histogram.Min), Round(histogram.Mean), At(0.5), At(0.75), At(0.9), At(0.95), At(0.99), At(0.999),
            At(0.9999), Round(histogram.Max));
    }

    private static double Round(double nanoseconds) => Math.Round(Text.Milliseconds(nanoseconds), 4);
}
