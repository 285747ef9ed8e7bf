namespace Tunnel2.LoadTests.Scenarios;

/// <summary>A flow's 99th percentile stays below a limit.</summary>
/// <param name="Flow">The flow's name.</param>
/// <param name="Limit">The limit, from the intended start to the last byte.</param>
internal sealed record FlowLatencyRule(string Flow, TimeSpan Limit) : PassRule
{
    /// <inheritdoc/>
    protected override string Words => $"p99 of '{Flow}' at most {Milliseconds(Limit)}";

    /// <inheritdoc/>
    protected override (RuleVerdict Verdict, string Found) Decide(RunFigures figures)
    {
        if (!figures.Flows.TryGetValue(Flow, out var flow) || flow.P99 is not { } p99)
        {
            return (RuleVerdict.Void, "no answer");
        }

        return figures.LatenciesCount
            ? (Verdict(p99 <= Limit), Milliseconds(p99))
            : (RuleVerdict.Void, $"{Milliseconds(p99)}, but the generator lagged");
    }
}
