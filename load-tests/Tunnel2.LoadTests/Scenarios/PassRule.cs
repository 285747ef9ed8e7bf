using System.Globalization;

namespace Tunnel2.LoadTests.Scenarios;

/// <summary>Something that must hold for a scenario to pass.</summary>
internal abstract record PassRule
{
    /// <summary>Judges a run.</summary>
    public RuleOutcome Judge(RunFigures figures)
    {
        var (verdict, found) = Decide(figures);
        return new RuleOutcome(Words, verdict, found);
    }

    /// <summary>The rule in words.</summary>
    protected abstract string Words { get; }

    /// <summary>Decides.</summary>
    protected abstract (RuleVerdict Verdict, string Found) Decide(RunFigures figures);

    /// <summary>Milliseconds as people read them.</summary>
    protected static string Milliseconds(TimeSpan time) => string.Create(CultureInfo.InvariantCulture, $"{time.TotalMilliseconds:0.##} ms");

    /// <summary>Passed or failed.</summary>
    protected static RuleVerdict Verdict(bool holds) => holds ? RuleVerdict.Passed : RuleVerdict.Failed;
}
