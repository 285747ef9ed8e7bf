using System.Text;

namespace Tunnel2.LoadTests.Reports;

/// <summary>The report as Markdown.</summary>
internal static class MarkdownReport
{
    private const string Columns =
        "| | requests | ok | failed | p50 ms | p90 | p99 | p99.9 | max |\n|---|---|---|---|---|---|---|---|---|\n";

    /// <summary>Writes it.</summary>
    public static string Of(LoadReport report)
    {
        var text = new StringBuilder("# Load test results\n\n");
        var machine = report.Machine;
        text.Append($"{machine.System}, {machine.Processors} processors, {machine.Runtime}, Tunnel2 {machine.Version}. ");
        text.Append(
            "Latencies run from the intended start of a request to the last byte of its answer, and are those of correct answers: failed "
                + "requests are listed beside them.\n\n");
        text.Append("| scenario | verdict | ok | mean ms | the ancestor's mean ms | p50 ms | p99 ms | generator's lag p99 ms |\n");
        text.Append("|---|---|---|---|---|---|---|---|\n");
        foreach (var scenario in report.Scenarios)
        {
            var first = scenario.Flows[0].Total.Latency;
            text.Append(Text.Line(
                $"| {scenario.Name} | {ReportWords.Verdict(scenario)} | {scenario.Flows.Sum(static f => f.Total.Ok):#,0} of ")
                    + Text.Line($"{scenario.Flows.Sum(static f => f.Total.Requests):#,0} | {first.Mean:0.00} | ")
                    + Text.Line($"{ReportWords.AncestorMean(scenario)} | {first.P50:0.00} | ")
                    + Text.Line($"{first.P99:0.00}{(scenario.LatenciesCount ? "" : " (does not count)")} | ")
                    + Text.Line($"{scenario.GeneratorLag.P99:0.000} |\n"));
        }

        foreach (var scenario in report.Scenarios)
        {
            AppendScenario(text, scenario);
        }

        return text.ToString();
    }

    private static void AppendScenario(StringBuilder text, ScenarioReport scenario)
    {
        text.Append($"\n## {scenario.Name}: {ReportWords.Verdict(scenario)}\n\n{scenario.Description}\n\n");
        text.Append(
            Text.Line($"Began {scenario.Started:yyyy-MM-dd HH:mm:ss} UTC, took {scenario.Seconds:0.0} ")
                + Text.Line($"s.{(scenario.UplinkCuts > 0 ? $" Uplinks were cut {scenario.UplinkCuts} times." : "")}\n\n"));
        foreach (var line in ReportWords.Sentences(scenario))
        {
            text.Append($"{line}\n\n");
        }

        foreach (var rule in scenario.Rules)
        {
            text.Append($"- {ReportWords.Verdict(rule.Verdict)}: {rule.Rule} ({rule.Found})\n");
        }

        foreach (var flow in scenario.Flows)
        {
            text.Append($"\n### {flow.Name}: {flow.Request}\n\n{Columns}");
            foreach (var step in flow.Steps)
            {
                AppendRow(text, ReportWords.Step(step), step);
            }

            if (flow.Steps.Count != 1)
            {
                AppendRow(text, "all", flow.Total);
            }

            if (ReportWords.Failures(flow.Total) is { } failures)
            {
                text.Append($"\nFailed: {failures}.\n");
            }
        }
    }

    private static void AppendRow(StringBuilder text, string name, StepReport step)
    {
        var latency = step.Latency;
        text.Append(Text.Line(
            $"| {name} | {step.Requests:#,0} | {step.Ok:#,0} | {step.Failed:#,0} | {latency.P50:0.00} | {latency.P90:0.00} | ")
                + Text.Line($"{latency.P99:0.00} | {latency.P999:0.00} | {latency.Max:0.00} |\n"));
    }
}
