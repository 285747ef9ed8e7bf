namespace Tunnel2.LoadTests.Statistics;

/// <summary>What came of the arrivals of one step of a flow. Not thread-safe.</summary>
internal sealed class StepStatistics
{
    /// <summary>Arrivals that were due.</summary>
    public long Arrivals { get; set; }

    /// <summary>Complete and correct answers.</summary>
    public long Ok { get; private set; }

    /// <summary>All others.</summary>
    public FailureCounts Failures { get; } = new();

    /// <summary>Of the correct answers, from the intended start to the last byte.</summary>
    public LatencyHistogram Latency { get; } = new();

    /// <summary>The generator's lag at each arrival.</summary>
    public LatencyHistogram Lag { get; } = new();

    /// <summary>Arrivals of which nothing is known yet.</summary>
    public long Outstanding => Arrivals - Ok - Failures.Total;

    /// <summary>Counts a correct answer.</summary>
    public void Succeed(long latency)
    {
        Ok++;
        Latency.Record(latency);
    }

    /// <summary>Adds another's.</summary>
    public void Add(StepStatistics other)
    {
        Arrivals += other.Arrivals;
        Ok += other.Ok;
        Failures.Add(other.Failures);
        Latency.Add(other.Latency);
        Lag.Add(other.Lag);
    }
}
