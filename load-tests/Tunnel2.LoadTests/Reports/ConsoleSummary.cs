using System.Text;
using Tunnel2.LoadTests.Running;

namespace Tunnel2.LoadTests.Reports;

/// <summary>What is printed at a scenario's end.</summary>
internal static class ConsoleSummary
{
    /// <summary>Makes it.</summary>
    public static string Of(ScenarioResult result)
    {
        var scenario = ScenarioReport.Of(result);
        var text = new StringBuilder();
        foreach (var flow in scenario.Flows)
        {
            var total = flow.Total;
            text.AppendLine(Text.Line($"  {flow.Name}: {total.Ok:#,0} of {total.Requests:#,0} ")
                + Text.Line($"ok{(total.Unfinished > 0 ? Text.Line($", {total.Unfinished:#,0} unfinished") : "")}; ")
                + Text.Line($"mean {total.Latency.Mean:0.00} p50 {total.Latency.P50:0.00} p99 {total.Latency.P99:0.00} ")
                + Text.Line($"p99.9 {total.Latency.P999:0.00} max {total.Latency.Max:0.00} ms"));
            if (ReportWords.Failures(total) is { } failures)
            {
                text.AppendLine($"    failed: {failures}");
            }
        }

        foreach (var line in ReportWords.Sentences(scenario))
        {
            text.AppendLine($"  {line}");
        }

        foreach (var rule in scenario.Rules)
        {
            text.AppendLine($"  {ReportWords.Verdict(rule.Verdict)}: {rule.Rule} ({rule.Found})");
        }

        return text.Append($"{scenario.Name}: {ReportWords.Verdict(scenario)}").ToString();
    }
}
