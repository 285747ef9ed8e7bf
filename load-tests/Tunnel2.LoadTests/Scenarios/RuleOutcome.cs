namespace Tunnel2.LoadTests.Scenarios;

/// <summary>A judged rule.</summary>
/// <param name="Rule">The rule in words.</param>
/// <param name="Verdict">What came of it.</param>
/// <param name="Found">The figure that decided.</param>
internal sealed record RuleOutcome(string Rule, RuleVerdict Verdict, string Found);
