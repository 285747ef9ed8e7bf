using Tunnel2.LoadTests.Engine;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Reports;

/// <summary>A flow.</summary>
internal sealed record FlowReport
{
    /// <summary>Its name in the scenario.</summary>
    public required string Name { get; init; }

    /// <summary>What it asked for.</summary>
    public required string Request { get; init; }

    /// <summary>All steps together.</summary>
    public required StepReport Total { get; init; }

    /// <summary>Each step that was reached.</summary>
    public required IReadOnlyList<StepReport> Steps { get; init; }

    /// <summary>The 99th percentile of each session, where there are several.</summary>
    public required IReadOnlyList<double> SessionP99s { get; init; }

    /// <summary>Second by second.</summary>
    public required IReadOnlyList<TimelinePoint> Timeline { get; init; }

    /// <summary>Connections that were opened.</summary>
    public long ConnectionsOpened { get; init; }

    /// <summary>Bytes of correct bodies.</summary>
    public long BodyBytes { get; init; }

    /// <summary>Makes it.</summary>
    public static FlowReport Of(FlowResult flow) => new()
    {
        Name = flow.Flow.Name,
        Request = flow.Flow.Request.Description,
        Total = StepReport.Of(flow.Total),
        Steps =
        [
            .. flow.Flow.Steps.Zip(flow.Steps)
                .Where(static pair => pair.Second.Arrivals > 0)
                .Select(static pair => StepReport.Of(pair.Second, pair.First)),
        ],
        SessionP99s = flow.Targets.Count > 1
            ? [.. flow.Targets.Select(static target => Math.Round(Text.Milliseconds(target.Percentile(0.99)), 4))]
            : [],
        Timeline = flow.Timeline,
        ConnectionsOpened = flow.ConnectionsOpened,
        BodyBytes = flow.BodyBytes,
    };
}
