using System.Globalization;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Statistics;

/// <summary>
/// Finds the knee of a stairs-like schedule: the last step that was held before the first one that was not. A step is held when at most 1 %
/// of its requests failed (of at least a hundred), the 99th percentile from the intended start stayed below 100 ms, and the generator
/// itself kept up.
/// </summary>
internal static class KneeFinder
{
    /// <summary>The most failures of a step that is held.</summary>
    public const double MaxFailedShare = 0.01;

    /// <summary>With fewer requests nothing can be said of a step.</summary>
    private const int FewestRequests = 100;

    /// <summary>A tool that has sent a smaller share of a step's requests was too slow for it.</summary>
    private const double LeastSentShare = 0.95;

    /// <summary>The highest 99th percentile of a step that is held.</summary>
    public static readonly TimeSpan MaxP99 = TimeSpan.FromMilliseconds(100);

    /// <summary>Finds it.</summary>
    /// <param name="steps">The schedule.</param>
    /// <param name="statistics">What came of each step that was run.</param>
    public static Knee Find(IReadOnlyList<LoadStep> steps, IReadOnlyList<StepStatistics> statistics)
    {
        double? held = null;
        for (var i = 0; i < steps.Count && statistics[i].Arrivals > 0; i++)
        {
            if (WhyNotHeld(statistics[i]) is { } why)
            {
                return new Knee(held, steps[i].Rate, why.Reason, why.IsUndecided);
            }

            held = steps[i].Rate;
        }

        return new Knee(held, null, "every step that was run was held");
    }

    /// <summary>
    /// Whether a step was held, as far as can be said at its end: what is outstanding must be less than a tenth of a second's worth.
    /// </summary>
    public static bool IsHeldAtItsEnd(LoadStep step, StepStatistics statistics) =>
        WhyNotHeld(statistics) is null && statistics.Outstanding <= Math.Max(1, step.Rate * MaxP99.TotalSeconds);

    /// <summary>
    /// Why a step was not held that another load tool has run, and whether the reason says nothing of what was measured; null: it was held.
    /// Such a tool does not report its lag: it counts as too slow when it has not sent nearly all that was due.
    /// </summary>
    /// <param name="due">Requests that the step should have.</param>
    /// <param name="figures">What came of it.</param>
    public static (string Reason, bool IsUndecided)? WhyNotHeld(long due, FlowFigures figures)
    {
        var sent = figures.Ok + figures.Failed;
        return sent < FewestRequests ? ($"{sent} requests are too few to judge", true)
            : figures.Failed > sent * MaxFailedShare ? ($"{Format(100.0 * figures.Failed / sent)} % of the requests failed", false)
            : figures.P99 > MaxP99 ? ($"p99 was {Format(figures.P99.Value.TotalMilliseconds)} ms", false)
            : sent < due * LeastSentShare
            ? ($"the generator itself sent only {Format(100.0 * sent / due)} % of the requests: a faster one may find more", true)
            : null;
    }

    private static (string Reason, bool IsUndecided)? WhyNotHeld(StepStatistics step)
    {
        var p99 = step.Latency.PercentileTime(0.99);
        return step.Arrivals < FewestRequests ? ($"{step.Arrivals} requests are too few to judge", true)
            : step.Failures.Total > step.Arrivals * MaxFailedShare
            ? ($"{Format(100.0 * step.Failures.Total / step.Arrivals)} % of the requests failed", false)
            : !LagLimit.IsKept(step.Lag)
            ? ($"the generator itself lagged (p99 {Format(step.Lag.PercentileTime(0.99).TotalMilliseconds)} ms): "
                + "a faster machine may find more", true)
            : p99 > MaxP99 ? ($"p99 was {Format(p99.TotalMilliseconds)} ms", false)
            : null;
    }

    private static string Format(double number) => number.ToString("0.##", CultureInfo.InvariantCulture);
}
