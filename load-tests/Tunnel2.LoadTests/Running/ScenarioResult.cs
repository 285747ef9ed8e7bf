using Tunnel2.LoadTests.Engine;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Running;

/// <summary>A scenario that was run, and its judgement.</summary>
/// <param name="Scenario">The scenario as it was run, scaled.</param>
/// <param name="Started">When, UTC.</param>
/// <param name="Engine">What the generator saw.</param>
internal sealed record ScenarioResult(LoadScenario Scenario, DateTimeOffset Started, EngineResult Engine)
{
    /// <summary>What the programs used; empty where they were not ours.</summary>
    public IReadOnlyList<ProcessFigures> Processes { get; init; } = [];

    /// <summary>The share of the processors that programs used of which nothing else is known, 0 to 1.</summary>
    public double OthersShare { get; init; }

    /// <summary>Runs before this one whose latencies did not count.</summary>
    public int RunsBefore { get; init; }

    /// <summary>Connections between agent and ProxyEntry that were cut.</summary>
    public int Cuts { get; init; }

    /// <summary>The mean latencies of scenarios that ran before in the same run.</summary>
    public IReadOnlyDictionary<string, TimeSpan> EarlierMeans { get; init; } = new Dictionary<string, TimeSpan>();

    /// <summary>How many times the mean of the scenario that it is compared with; null: none, or not measured.</summary>
    public double? Growth =>
        Scenario.ComparedWith is { } smaller && EarlierMeans.TryGetValue(smaller, out var before) && Engine.Flows[0].Total.Ok > 0
            ? Engine.Flows[0].Total.Latency.MeanTime / before
            : null;

    /// <summary>The generator's lag at every arrival.</summary>
    public LatencyHistogram Lag { get; } = Sum(Engine);

    /// <summary>Where a rising load broke; null: not looked for.</summary>
    public Knee? Knee { get; } = FindKnee(Engine);

    /// <summary>Whether the generator kept its schedule. A step beyond the knee, where it may not, is not counted.</summary>
    public bool LatenciesCount => LagLimit.IsKept(Lag);

    /// <summary>What came of each rule.</summary>
    public IReadOnlyList<RuleOutcome> Outcomes => [.. Scenario.Rules.Select(rule => rule.Judge(ToFigures()))];

    /// <summary>Whether it was run to its end and every rule holds.</summary>
    public bool Passed => !Engine.WasStopped && Outcomes.All(static outcome => outcome.Verdict == RuleVerdict.Passed);

    /// <summary>The figures that rules judge.</summary>
    public RunFigures ToFigures() => new()
    {
        Flows = Engine.Flows.ToDictionary(static flow => flow.Flow.Name, static flow => new FlowFigures(
            flow.Total.Ok,
            flow.Total.Failures.Total,
            flow.Total.Failures[FailureKind.WrongBody],
            flow.Total.Ok == 0 ? null : flow.Total.Latency.PercentileTime(0.99))
        {
            Mean = flow.Total.Ok == 0 ? null : flow.Total.Latency.MeanTime,
        }),
        LatenciesCount = LatenciesCount,
        LagP99 = Lag.Count == 0 ? null : Lag.PercentileTime(0.99),
        SessionP99s = Engine.Flows[0].Targets.Count > 1
            ? [.. Engine.Flows[0].Targets.Select(static target => target.PercentileTime(0.99))]
            : null,
        EarlierMeans = EarlierMeans,
        Knee = Knee,
    };

    private static LatencyHistogram Sum(EngineResult engine)
    {
        var sum = new LatencyHistogram();
        foreach (var flow in engine.Flows)
        {
            sum.Add(flow.Total.Lag);
        }

        return sum;
    }

    private static Knee? FindKnee(EngineResult engine) =>
        engine.Flows.FirstOrDefault(static flow => flow.Flow.StopAtKnee) is { } flow ? KneeFinder.Find(flow.Flow.Steps, flow.Steps) : null;
}
