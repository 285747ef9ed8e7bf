using System.Globalization;

namespace Tunnel2.LoadTests.Scenarios;

/// <summary>No session's 99th percentile is more than so many times the median session's.</summary>
/// <param name="Factor">How many times.</param>
internal sealed record SessionSpreadRule(double Factor) : PassRule
{
    /// <inheritdoc/>
    protected override string Words =>
        string.Create(CultureInfo.InvariantCulture, $"no session's p99 more than {Factor:0.##} times the median session's");

    /// <inheritdoc/>
    protected override (RuleVerdict Verdict, string Found) Decide(RunFigures figures)
    {
        if (figures.SessionP99s is not { Count: > 1 } p99s)
        {
            return (RuleVerdict.Void, "not measured by session");
        }

        var sorted = p99s.Order().ToArray();
        var median = sorted[sorted.Length / 2];
        var found = string.Create(
            CultureInfo.InvariantCulture,
            $"worst {Milliseconds(sorted[^1])}, median {Milliseconds(median)}: {sorted[^1] / median:0.00} times");
        return figures.LatenciesCount
            ? (Verdict(sorted[^1] <= median * Factor), found)
            : (RuleVerdict.Void, $"{found}, but the generator lagged");
    }
}
