namespace Tunnel2.ProxyEntry.Cluster.Nodes;

/// <summary>How long to wait after a failure: longer each time, up to a limit, and never the same on two nodes. Not thread-safe.</summary>
internal sealed class Backoff(Random random)
{
    private int _failures;

    /// <summary>Failures in a row.</summary>
    public int Failures => _failures;

    /// <summary>Counts a failure.</summary>
    /// <returns>The wait before the next try.</returns>
    public TimeSpan Next()
    {
        var full = ClusterTimes.FirstWait * Math.Pow(2, Math.Min(_failures, 10));
        _failures++;
        return (full < ClusterTimes.LongestWait ? full : ClusterTimes.LongestWait) * (0.7 + (random.NextDouble() * 0.3));
    }

    /// <summary>It worked.</summary>
    public void Reset() => _failures = 0;
}
