using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Reports;

/// <summary>Sentences that every form of the report has.</summary>
internal static class ReportWords
{
    /// <summary>What became of it, in a word.</summary>
    public static string Verdict(ScenarioReport scenario) => scenario.WasStopped ? "stopped" : scenario.Passed ? "passed" : "failed";

    /// <summary>A rule's verdict.</summary>
    public static string Verdict(RuleVerdict verdict) => verdict switch
    {
        RuleVerdict.Passed => "holds",
        RuleVerdict.Failed => "does not hold",
        _ => "cannot be judged",
    };

    /// <summary>The generator's lag, and what it means for the rest.</summary>
    public static string Lag(ScenarioReport scenario)
    {
        var lag = scenario.GeneratorLag;
        return Text.Line(
            $"Generator's lag behind its schedule: p50 {lag.P50:0.000} ms, p99 {lag.P99:0.000} ms, max {lag.Max:0.0} ms (limit: p99 ")
                + Text.Line($"{LagLimit.Limit.TotalMilliseconds:0} ms).")
            + (scenario.LatenciesCount
                ? " It kept its schedule."
                : " IT DID NOT KEEP ITS SCHEDULE: THE LATENCIES OF THIS RUN DO NOT COUNT.");
    }

    /// <summary>How often it was measured before; null: this is its only run.</summary>
    public static string? RunsBefore(ScenarioReport scenario) => scenario.RunsBefore switch
    {
        0 => null,
        1 => "Measured again: in 1 run before this one the generator did not keep its schedule.",
        var runs => Text.Line($"Measured again: in {runs} runs before this one the generator did not keep its schedule."),
    };

    /// <summary>The knee; null where it was not looked for.</summary>
    public static string? KneeSentence(ScenarioReport scenario) => scenario.Knee is { } knee ? KneeSentence(knee) : null;

    /// <summary>The knee in a sentence.</summary>
    public static string KneeSentence(Knee knee) => knee switch
    {
        { Rate: null } => Text.Line($"Knee: not even {knee.BrokeAt:#,0}/s was held: {knee.Reason}."),
        { BrokeAt: null } => Text.Line($"Knee: not reached at {knee.Rate:#,0}/s; {knee.Reason}."),
        _ => Text.Line($"Knee: {knee.Rate:#,0}/s was held, {knee.BrokeAt:#,0}/s was not: {knee.Reason}."),
    };

    /// <summary>The ancestor's figure beside ours; null where there is none.</summary>
    public static string? AncestorSentence(ScenarioReport scenario)
    {
        var mean = scenario.Flows[0].Total.Latency.Mean;
        return scenario.AncestorMean is not { } theirs || mean <= 0 ? null
            : Text.Line($"Mean {mean:0.00} ms; the ancestor reported {theirs:#,0} ms for this load on its machine: ")
                + Text.Line($"{theirs / mean:#,0} times as much.");
    }

    /// <summary>The mean beside that of a smaller scenario; null where there is none.</summary>
    public static string? GrowthSentence(ScenarioReport scenario) =>
        scenario.Growth is { } growth ? Text.Line($"Its mean is {growth:0.00} times that of {scenario.ComparedWith}.") : null;

    /// <summary>Everything that is said of a scenario as a whole.</summary>
    public static IEnumerable<string> Sentences(ScenarioReport scenario) => new[]
    {
        scenario.AsAncestor
            ? "Through the ancestor's design (HttpClient in the agent, one lock per write), for comparison: its rules decide nothing."
            : null,
        Lag(scenario),
        RunsBefore(scenario),
        KneeSentence(scenario),
        AncestorSentence(scenario),
        GrowthSentence(scenario),
        Processes(scenario),
    }.OfType<string>();

    /// <summary>The ancestor's mean in a table; empty where there is none.</summary>
    public static string AncestorMean(ScenarioReport scenario) => scenario.AncestorMean is { } mean ? Text.Line($"{mean:#,0}") : "";

    /// <summary>What each program used, and how busy the machine was otherwise.</summary>
    public static string Processes(ScenarioReport scenario)
    {
        var requests = Math.Max(1, scenario.Flows.Sum(static flow => flow.Total.Requests));
        return string.Join("; ", scenario.Processes.Select(process => Text.Line(
            $"{process.Name} {process.ProcessorSeconds:0.0} s of processor time ({process.ProcessorSeconds * 1e6 / requests:0} µs a ")
                + Text.Line($"request), {process.ResidentMegabytes:0} MB")))
            + Text.Line($". Programs that are not part of this used {scenario.OthersShare * 100:0} % of the processors.");
    }

    /// <summary>The failures of a flow by kind; null: there are none.</summary>
    public static string? Failures(StepReport step) => step.Failed == 0 ? null
        : string.Join(", ", step.Failures.Select(static pair => Text.Line($"{pair.Key} {pair.Value:#,0}")))
            + (step.FailureDetails.Count == 0
                ? ""
                : $" ({string.Join(", ", step.FailureDetails.Select(static pair => Text.Line($"{pair.Key}: {pair.Value:#,0}")))})");

    /// <summary>A step in words, such as <c>1,000/s</c> or <c>50 at once</c>.</summary>
    public static string Step(StepReport step) =>
        step.AtOnce > 1 ? Text.Line($"{step.AtOnce:#,0} at once, {step.Rate / step.AtOnce:0.##}/s") : Text.Line($"{step.Rate:#,0.##}/s");
}
