namespace Tunnel2.LoadTests.Statistics;

/// <summary>When a generator counts as having kept its schedule.</summary>
internal static class LagLimit
{
    /// <summary>The lag's 99th percentile has to stay below this.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromMilliseconds(1);

    /// <summary>Whether latencies beside this lag count.</summary>
    public static bool IsKept(LatencyHistogram lag) => lag.PercentileTime(0.99) < Limit;
}
