namespace Tunnel2.LoadTests.Scenarios;

/// <summary>The generator itself keeps its schedule.</summary>
/// <param name="Limit">The limit of its lag's 99th percentile.</param>
internal sealed record LagRule(TimeSpan Limit) : PassRule
{
    /// <inheritdoc/>
    protected override string Words => $"the generator's lag, p99, below {Milliseconds(Limit)}";

    /// <inheritdoc/>
    protected override (RuleVerdict Verdict, string Found) Decide(RunFigures figures) =>
        figures.LagP99 is { } lag ? (Verdict(lag < Limit), Milliseconds(lag)) : (RuleVerdict.Void, "not measured");
}
