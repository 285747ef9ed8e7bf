using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Scenarios;

/// <summary>What pass rules judge; the runner of the scenario fills in what it knows.</summary>
internal sealed record RunFigures
{
    /// <summary>By flow.</summary>
    public required IReadOnlyDictionary<string, FlowFigures> Flows { get; init; }

    /// <summary>Whether the generator kept its schedule, so that latencies count.</summary>
    public bool LatenciesCount { get; init; } = true;

    /// <summary>The generator's lag behind its schedule, 99th percentile; null: not measured.</summary>
    public TimeSpan? LagP99 { get; init; }

    /// <summary>The 99th percentile of each session; null: not measured by session.</summary>
    public IReadOnlyList<TimeSpan>? SessionP99s { get; init; }

    /// <summary>
    /// The mean latency of the first flow of scenarios that ran before in the same run, by name; those whose latencies do not count are not
    /// in it.
    /// </summary>
    public IReadOnlyDictionary<string, TimeSpan> EarlierMeans { get; init; } = new Dictionary<string, TimeSpan>();

    /// <summary>The highest rate that was held, and why not the next; null: not looked for.</summary>
    public Knee? Knee { get; init; }
}
