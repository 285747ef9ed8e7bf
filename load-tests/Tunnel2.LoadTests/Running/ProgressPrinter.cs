using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Running;

/// <summary>A line for each second of a run.</summary>
internal sealed class ProgressPrinter(LoadScenario scenario, TextWriter console)
{
    private int _printed;

    /// <summary>Prints the seconds that are over and were not printed.</summary>
    public void Print(IReadOnlyList<IReadOnlyCollection<TimelinePoint>> timelines)
    {
        if (timelines.Count == 0)
        {
            return;
        }

        // All flows close their intervals at the same tick.
        var flows = timelines.Select(static points => points.ToArray()).ToArray();
        for (; _printed < flows.Min(static points => points.Length); _printed++)
        {
            var points = flows.Select(points => points[_printed]).ToArray();
            var length = points[0].Length;
            console.WriteLine(Text.Line($"  {points[0].Second,6:0.0} s  {points.Sum(static p => p.Arrivals) / length,8:#,0}/s due  ")
                + Text.Line($"{points.Sum(static p => p.Ok) / length,8:#,0}/s ok  {points.Sum(static p => p.Failed),6:#,0} failed  p99 ")
                + Text.Line($"{points[0].P99,8:0.00} ms{Name()}  {points.Sum(static p => p.Connections),5} connections{Waiting(points)}"));
        }
    }

    private string Name() => scenario.Flows.Count > 1 ? $" ({scenario.Flows[0].Name})" : "";

    private static string Waiting(TimelinePoint[] points) =>
        points.Sum(static p => p.Waiting) is > 0 and var waiting ? Text.Line($", {waiting:#,0} wait for one") : "";
}
