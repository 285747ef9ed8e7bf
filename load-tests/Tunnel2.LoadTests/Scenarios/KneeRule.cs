using System.Globalization;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Scenarios;

/// <summary>The knee is found, and is at least at this rate.</summary>
/// <param name="AtLeast">Requests a second.</param>
internal sealed record KneeRule(double AtLeast) : PassRule
{
    /// <inheritdoc/>
    protected override string Words => string.Create(CultureInfo.InvariantCulture, $"the highest rate that is held is found, and is at least {AtLeast:#,0}/s");

    /// <inheritdoc/>
    protected override (RuleVerdict Verdict, string Found) Decide(RunFigures figures)
    {
        var found = figures.Knee is { } knee ? string.Create(CultureInfo.InvariantCulture, $"{knee:#,0}/s") : "none was held";
        return figures.Knee >= AtLeast ? (RuleVerdict.Passed, found)
            : figures.Flows.Values.Sum(static flow => flow.Ok + flow.Failed) < KneeFinder.FewestRequests ? (RuleVerdict.Void, "too few requests to tell")
            : figures.LatenciesCount ? (RuleVerdict.Failed, found)
            : (RuleVerdict.Void, $"{found}, but the generator lagged");
    }
}
