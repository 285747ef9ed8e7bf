using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Engine;

/// <summary>What a flow came to.</summary>
/// <param name="Flow">The flow.</param>
/// <param name="Total">All its steps together.</param>
/// <param name="Steps">By step; one that was not reached has no arrivals.</param>
/// <param name="Targets">Latencies by tunnel.</param>
/// <param name="Timeline">Second by second.</param>
internal sealed record FlowResult(
    TrafficFlow Flow, StepStatistics Total, IReadOnlyList<StepStatistics> Steps, IReadOnlyList<LatencyHistogram> Targets,
    IReadOnlyList<TimelinePoint> Timeline)
{
    /// <summary>Bytes of correct bodies.</summary>
    public long BodyBytes { get; init; }

    /// <summary>Connections that were opened.</summary>
    public long ConnectionsOpened { get; init; }

    /// <summary>Takes it from a flow that has ended.</summary>
    public static FlowResult From(TrafficFlow flow, FlowRun run)
    {
        var total = new StepStatistics();
        foreach (var step in run.Steps)
        {
            total.Add(step);
        }

        return new FlowResult(flow, total, run.Steps, run.Targets, [.. run.Timeline.Points])
        {
            BodyBytes = run.BodyBytes,
            ConnectionsOpened = run.ConnectionsOpened,
        };
    }
}
