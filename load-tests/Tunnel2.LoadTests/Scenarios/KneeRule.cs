using System.Globalization;

namespace Tunnel2.LoadTests.Scenarios;

/// <summary>The knee is found, and is at least at this rate.</summary>
/// <param name="AtLeast">Requests a second.</param>
internal sealed record KneeRule(double AtLeast) : PassRule
{
    /// <inheritdoc/>
    protected override string Words =>
        string.Create(CultureInfo.InvariantCulture, $"the highest rate that is held is found, and is at least {AtLeast:#,0}/s");

    /// <inheritdoc/>
    protected override (RuleVerdict Verdict, string Found) Decide(RunFigures figures)
    {
        var found = figures.Knee?.Rate is { } rate ? string.Create(CultureInfo.InvariantCulture, $"{rate:#,0}/s") : "none was held";
        return figures.Knee?.Rate >= AtLeast ? (RuleVerdict.Passed, found)
            : figures.Knee is { IsUndecided: true } knee ? (RuleVerdict.Void, $"{found}: {knee.Reason}")
            : (RuleVerdict.Failed, found);
    }
}
