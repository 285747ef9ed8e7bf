using Tunnel2.LoadTests.Engine;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Reports;

/// <summary>A scenario.</summary>
internal sealed record ScenarioReport
{
    /// <summary>Its name.</summary>
    public required string Name { get; init; }

    /// <summary>Its sentence.</summary>
    public required string Description { get; init; }

    /// <summary>Through the ancestor's design: for comparison, and not judged.</summary>
    public bool AsAncestor { get; init; }

    /// <summary>The mean that the ancestor's own load tests reported for this load, in milliseconds; null: none.</summary>
    public double? AncestorMean { get; init; }

    /// <summary>The smaller scenario that this one is compared with; null: none.</summary>
    public string? ComparedWith { get; init; }

    /// <summary>How many times its mean this one's is.</summary>
    public double? Growth { get; init; }

    /// <summary>When it began, UTC.</summary>
    public required DateTimeOffset Started { get; init; }

    /// <summary>From the first arrival to the last answer.</summary>
    public double Seconds { get; init; }

    /// <summary>Whether it was run to its end and every rule holds.</summary>
    public bool Passed { get; init; }

    /// <summary>Whether it was stopped before its end.</summary>
    public bool WasStopped { get; init; }

    /// <summary>The generator's lag behind its schedule.</summary>
    public required LatencyReport GeneratorLag { get; init; }

    /// <summary>Whether the generator kept its schedule. If not, the latencies do not count.</summary>
    public bool LatenciesCount { get; init; }

    /// <summary>Runs before this one in which it did not.</summary>
    public int RunsBefore { get; init; }

    /// <summary>How the system ranked the generator.</summary>
    public GeneratorPriority GeneratorPriority { get; init; }

    /// <summary>The rules.</summary>
    public required IReadOnlyList<RuleReport> Rules { get; init; }

    /// <summary>Where a rising load broke.</summary>
    public Knee? Knee { get; init; }

    /// <summary>Connections between agent and ProxyEntry that were cut.</summary>
    public int UplinkCuts { get; init; }

    /// <summary>What the programs used.</summary>
    public required IReadOnlyList<ProcessFigures> Processes { get; init; }

    /// <summary>The share of the processors that other programs used, 0 to 1.</summary>
    public double OthersShare { get; init; }

    /// <summary>The flows.</summary>
    public required IReadOnlyList<FlowReport> Flows { get; init; }

    /// <summary>Makes it.</summary>
    public static ScenarioReport Of(ScenarioResult result) => new()
    {
        Name = result.Scenario.Title,
        Description = result.Scenario.Description,
        AsAncestor = result.Scenario.AsAncestor,
        AncestorMean = result.Scenario.AsAncestor ? null : result.Scenario.AncestorMean?.TotalMilliseconds,
        ComparedWith = result.Scenario.ComparedWith,
        Growth = result.Growth,
        Started = result.Started,
        Seconds = Math.Round(result.Engine.Elapsed.TotalSeconds, 3),
        Passed = result.Passed,
        WasStopped = result.Engine.WasStopped,
        GeneratorLag = LatencyReport.Of(result.Lag),
        LatenciesCount = result.LatenciesCount,
        RunsBefore = result.RunsBefore,
        GeneratorPriority = result.Engine.Priority,
        Rules = [.. result.Outcomes.Select(static outcome => new RuleReport(outcome.Rule, outcome.Verdict, outcome.Found))],
        Knee = result.Knee,
        UplinkCuts = result.Cuts,
        Processes = result.Processes,
        OthersShare = Math.Round(result.OthersShare, 3),
        Flows = [.. result.Engine.Flows.Select(FlowReport.Of)],
    };
}
