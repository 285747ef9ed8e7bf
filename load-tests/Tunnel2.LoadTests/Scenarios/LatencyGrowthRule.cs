using System.Globalization;

namespace Tunnel2.LoadTests.Scenarios;

/// <summary>A flow's mean latency is at most so many times that of a smaller scenario of the same run.</summary>
/// <param name="Flow">The flow's name.</param>
/// <param name="Than">The smaller scenario.</param>
/// <param name="Factor">How many times.</param>
internal sealed record LatencyGrowthRule(string Flow, string Than, double Factor) : PassRule
{
    /// <inheritdoc/>
    protected override string Words =>
        string.Create(CultureInfo.InvariantCulture, $"mean of '{Flow}' at most {Factor:0.##} times that of {Than}");

    /// <inheritdoc/>
    protected override (RuleVerdict Verdict, string Found) Decide(RunFigures figures)
    {
        if (!figures.Flows.TryGetValue(Flow, out var flow) || flow.Mean is not { } mean)
        {
            return (RuleVerdict.Void, "no answer");
        }

        if (!figures.EarlierMeans.TryGetValue(Than, out var before) || before <= TimeSpan.Zero)
        {
            return (RuleVerdict.Void, $"{Than} was not measured in this run");
        }

        var found = string.Create(
            CultureInfo.InvariantCulture, $"{Milliseconds(before)}, now {Milliseconds(mean)}: {mean / before:0.00} times");
        return figures.LatenciesCount
            ? (Verdict(mean <= before * Factor), found)
            : (RuleVerdict.Void, $"{found}, but the generator lagged");
    }
}
