using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Running;

/// <summary>
/// Repeats a scenario whose latencies do not count because the generator lagged: one pause of the machine is enough for that where there
/// are few arrivals. A run with a rule that does not hold is never repeated, so no fault of the tunnel is hidden.
/// </summary>
internal static class CountedRun
{
    /// <summary>Runs of a scenario at most.</summary>
    public const int MostRuns = 3;

    /// <summary>Runs it until its latencies count, or as often as it may run.</summary>
    /// <param name="run">Runs it once.</param>
    /// <returns>The last run.</returns>
    public static async Task<ScenarioResult> RunAsync(Func<Task<ScenarioResult>> run)
    {
        for (var before = 0; ; before++)
        {
            var result = await run() with { RunsBefore = before };
            if (before + 1 == MostRuns || !IsWorthAnother(result))
            {
                return result;
            }
        }
    }

    private static bool IsWorthAnother(ScenarioResult result) =>
        !result.LatenciesCount
            && !result.Engine.WasStopped
            && !result.Scenario.AsAncestor
            && !result.Passed
            && result.Outcomes.All(static outcome => outcome.Verdict != RuleVerdict.Failed);
}
