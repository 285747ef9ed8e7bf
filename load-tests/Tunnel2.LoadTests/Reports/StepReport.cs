using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Reports;

/// <summary>A step of a schedule, or a whole flow.</summary>
internal sealed record StepReport
{
    /// <summary>Requests a second; 0 for a whole flow.</summary>
    public double Rate { get; init; }

    /// <summary>Requests at each instant.</summary>
    public int AtOnce { get; init; }

    /// <summary>How long it was to last.</summary>
    public double Seconds { get; init; }

    /// <summary>Arrivals that were due.</summary>
    public long Requests { get; init; }

    /// <summary>Complete and correct answers.</summary>
    public long Ok { get; init; }

    /// <summary>All other answers, and none.</summary>
    public long Failed { get; init; }

    /// <summary>Under way when the run was stopped.</summary>
    public long Unfinished { get; init; }

    /// <summary>Failures by kind.</summary>
    public required IReadOnlyDictionary<string, long> Failures { get; init; }

    /// <summary>What was said with them.</summary>
    public required IReadOnlyDictionary<string, long> FailureDetails { get; init; }

    /// <summary>The first few.</summary>
    public required IReadOnlyList<string> FailureSamples { get; init; }

    /// <summary>Of the correct answers, from the intended start.</summary>
    public required LatencyReport Latency { get; init; }

    /// <summary>Makes it.</summary>
    public static StepReport Of(StepStatistics statistics, LoadStep? step = null) => new()
    {
        Rate = step?.Rate ?? 0,
        AtOnce = step?.GroupSize ?? 0,
        Seconds = step?.Duration.TotalSeconds ?? 0,
        Requests = statistics.Arrivals,
        Ok = statistics.Ok,
        Failed = statistics.Failures.Total,
        Unfinished = statistics.Outstanding,
        Failures = statistics.Failures.ByKind,
        FailureDetails = statistics.Failures.Details,
        FailureSamples = statistics.Failures.Samples,
        Latency = LatencyReport.Of(statistics.Latency),
    };
}
