using System.Globalization;

namespace Tunnel2.LoadTests.Scenarios;

/// <summary>At least this share of all requests is answered completely and correctly, and no answer at all has a wrong body.</summary>
/// <param name="Share">0 to 1.</param>
internal sealed record OkShareRule(double Share) : PassRule
{
    /// <inheritdoc/>
    protected override string Words => Share >= 1
        ? "every request is answered completely and correctly"
        : string.Create(
            CultureInfo.InvariantCulture,
            $"at least {Share * 100:0.##} % of the requests are answered completely and correctly, and no body is wrong");

    /// <inheritdoc/>
    protected override (RuleVerdict Verdict, string Found) Decide(RunFigures figures)
    {
        var ok = figures.Flows.Values.Sum(static flow => flow.Ok);
        var all = ok + figures.Flows.Values.Sum(static flow => flow.Failed);
        var wrong = figures.Flows.Values.Sum(static flow => flow.WrongBodies);
        var found = string.Create(
            CultureInfo.InvariantCulture, $"{ok:#,0} of {all:#,0}{(wrong > 0 ? $", {wrong:#,0} with a wrong body" : "")}");
        return all == 0 ? (RuleVerdict.Void, "no request") : (Verdict(ok >= Share * all && wrong == 0), found);
    }
}
