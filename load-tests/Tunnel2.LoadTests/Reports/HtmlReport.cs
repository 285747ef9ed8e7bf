using System.Text;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Reports;

/// <summary>The report as one page that needs nothing else: no script, no font, no picture from elsewhere.</summary>
internal static class HtmlReport
{
    private const string Style =
        """
        :root{color-scheme:light dark;--line:#8884;--good:#1a7f37;--bad:#cf222e;--a:#0969da;--b:#bf5700;--c:#cf222e}
        @media(prefers-color-scheme:dark){:root{--good:#3fb950;--bad:#ff7b72;--a:#58a6ff;--b:#f0883e;--c:#ff7b72}}
        body{font:15px/1.5 system-ui,sans-serif;max-width:1360px;margin:2rem auto;padding:0 1rem}
        h1{font-size:1.6rem}h2{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:1rem}
        table{border-collapse:collapse;font-variant-numeric:tabular-nums}
        td,th{padding:.2rem .7rem;border-bottom:1px solid var(--line);text-align:right}
        td:first-child,th:first-child{text-align:left}.passed,.holds{color:var(--good)}.failed,.stopped,.fails{color:var(--bad)}
        .warning{border-left:4px solid var(--bad);padding:.4rem .8rem;font-weight:600}
        .plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(480px,1fr));gap:1rem;margin:1rem 0}
        svg{width:100%;height:auto}polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}
        polyline.a{stroke:var(--a);stroke-width:5;stroke-opacity:.45}polyline.b{stroke:var(--b)}polyline.c{stroke:var(--c)}
        text{font:11px system-ui,sans-serif;fill:currentColor}
        text.title{font-size:13px;font-weight:600}text.a{fill:var(--a)}text.b{fill:var(--b)}text.c{fill:var(--c)}.grid{stroke:var(--line)}
        """;

    /// <summary>Writes it.</summary>
    public static string Of(LoadReport report)
    {
        var page = new StringBuilder(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tunnel2 load test results</title>");
        page.Append(
            $"<meta name=\"viewport\" content=\"width=device-width\"><style>{Style}</style></head><body>\n"
                + $"<h1>Tunnel2 load test results</h1>\n");
        var machine = report.Machine;
        page.Append(
            $"<p>{Html.Escape(machine.System)}, {machine.Processors} processors, {Html.Escape(machine.Runtime)}, Tunnel2 "
                + $"{machine.Version}. ");
        page.Append(
            "Latencies run from the intended start of a request to the last byte of its answer, and are those of correct answers: failed "
                + "requests are listed beside them. Every byte of every answer was compared.</p>\n");
        page.Append(
            "<table><tr><th>scenario</th><th>verdict</th><th>ok</th><th>of</th><th>mean ms</th><th>the ancestor's mean ms</th>"
                + "<th>p50 ms</th><th>p99 ms</th><th>generator's lag, p99 ms</th></tr>\n");
        foreach (var scenario in report.Scenarios)
        {
            var latency = scenario.Flows[0].Total.Latency;
            page.Append(
                $"<tr><td><a href=\"#{scenario.Name}\">{scenario.Name}</a></td><td "
                    + $"class=\"{ReportWords.Verdict(scenario)}\">{ReportWords.Verdict(scenario)}</td>");
            page.Append(
                Text.Line($"<td>{scenario.Flows.Sum(static flow => flow.Total.Ok):#,0}</td>")
                    + Text.Line($"<td>{scenario.Flows.Sum(static flow => flow.Total.Requests):#,0}</td>"));
            page.Append(
                Text.Line($"<td>{latency.Mean:0.00}</td><td>{ReportWords.AncestorMean(scenario)}</td><td>{latency.P50:0.00}</td>")
                    + Text.Line($"<td>{latency.P99:0.00}{(scenario.LatenciesCount ? "" : " (does not count)")}</td>")
                    + Text.Line($"<td>{scenario.GeneratorLag.P99:0.000}</td></tr>\n"));
        }

        page.Append("</table>\n");
        foreach (var scenario in report.Scenarios)
        {
            AppendScenario(page, scenario);
        }

        return page.Append("</body></html>\n").ToString();
    }

    private static void AppendScenario(StringBuilder page, ScenarioReport scenario)
    {
        var verdict = ReportWords.Verdict(scenario);
        page.Append(
            $"<h2 id=\"{scenario.Name}\">{scenario.Name}: <span class=\"{verdict}\">{verdict}</span></h2>\n"
                + $"<p>{Html.Escape(scenario.Description)}</p>\n");
        page.Append(
            Text.Line($"<p>Began {scenario.Started:yyyy-MM-dd HH:mm:ss} UTC, took {scenario.Seconds:0.0} ")
                + Text.Line($"s.{(scenario.UplinkCuts > 0 ? $" Uplinks were cut {scenario.UplinkCuts} times." : "")}</p>\n"));
        foreach (var line in ReportWords.Sentences(scenario))
        {
            var isWarning = !scenario.LatenciesCount && line == ReportWords.Lag(scenario);
            page.Append($"<p{(isWarning ? " class=\"warning\"" : "")}>{Html.Escape(line)}</p>\n");
        }

        page.Append("<ul>\n");
        foreach (var rule in scenario.Rules)
        {
            page.Append(
                $"<li><span "
                    + $"class=\"{(rule.Verdict == RuleVerdict.Passed ? "holds" : "fails")}\">{ReportWords.Verdict(rule.Verdict)}</span>: "
                    + $"{Html.Escape($"{rule.Rule} ({rule.Found})")}</li>\n");
        }

        page.Append("</ul>\n");

        foreach (var flow in scenario.Flows)
        {
            AppendFlow(page, flow, scenario.Flows.Count > 1);
        }
    }

    private static void AppendFlow(StringBuilder page, FlowReport flow, bool isOneOfSeveral)
    {
        page.Append(
            isOneOfSeveral ? $"<h3>{Html.Escape(flow.Name)}: {Html.Escape(flow.Request)}</h3>\n" : $"<p>{Html.Escape(flow.Request)}</p>\n");
        page.Append(
            "<table><tr><th></th><th>requests</th><th>ok</th><th>failed</th><th>p50 ms</th><th>p90</th><th>p99</th><th>p99.9</th>"
                + "<th>max</th></tr>\n");
        foreach (var step in flow.Steps)
        {
            AppendRow(page, ReportWords.Step(step), step);
        }

        if (flow.Steps.Count != 1)
        {
            AppendRow(page, "all", flow.Total);
        }

        page.Append("</table>\n");
        if (ReportWords.Failures(flow.Total) is { } failures)
        {
            page.Append(
                $"<p class=\"failed\">Failed: {Html.Escape(failures)}.</p>\n"
                    + $"<ul>{string.Concat(flow.Total.FailureSamples.Select(static sample => $"<li>{Html.Escape(sample)}</li>"))}</ul>\n");
        }

        page.Append("<div class=\"plots\">\n");
        page.Append(
            Plot(
                "Requests",
                "requests a second",
                flow.Timeline,
                ("due", "a", static p => p.Arrivals / p.Length),
                ("ok", "b", static p => p.Ok / p.Length),
                ("failed", "c", static p => p.Failed / p.Length)));
        page.Append(
            Plot(
                "Latency of the answers of each second",
                "ms",
                flow.Timeline,
                ("p50", "a", static p => p.P50),
                ("p99", "b", static p => p.P99),
                ("max", "c", static p => p.Max)));
        if (flow.SessionP99s.Count > 0)
        {
            page.Append(new SvgPlot("p99 of each session, from the best to the worst", "session", "ms")
            {
                Lines = [new PlotLine("p99", "b", [.. flow.SessionP99s.Order().Select(static (p99, i) => ((double)i + 1, p99))])],
            }.Draw());
        }

        page.Append("</div>\n");
    }

    private static string Plot(
        string title,
        string unit,
        IReadOnlyList<TimelinePoint> timeline,
        params (string Name, string Style, Func<TimelinePoint, double> Value)[] lines) =>
        new SvgPlot(title, "seconds from the start", unit)
        {
            Lines =
            [
                .. lines.Select(
                    line => new PlotLine(line.Name, line.Style, [.. timeline.Select(point => (point.Second, line.Value(point)))])),
            ],
        }.Draw();

    private static void AppendRow(StringBuilder page, string name, StepReport step)
    {
        var latency = step.Latency;
        page.Append(Text.Line(
            $"<tr><td>{Html.Escape(name)}</td><td>{step.Requests:#,0}</td><td>{step.Ok:#,0}</td><td>{step.Failed:#,0}</td>")
                + Text.Line($"<td>{latency.P50:0.00}</td><td>{latency.P90:0.00}</td><td>{latency.P99:0.00}</td>")
                + Text.Line($"<td>{latency.P999:0.00}</td><td>{latency.Max:0.00}</td></tr>\n"));
    }
}
