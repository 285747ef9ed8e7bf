using NBomber.Contracts.Stats;
using NBomber.CSharp;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.NBomber;

/// <summary>NBomber as the suite's generator: its schedule, its statistics, its HTML report.</summary>
internal sealed class NBomberTool : ILoadTool
{
    /// <inheritdoc/>
    public Task<IReadOnlyDictionary<string, FlowFigures>> RunAsync(ToolRun run)
    {
        var scenario = run.Scenario;
        var clients = scenario.Flows.Select(flow => new VisitorClient(flow, run.Target.EndPoint, run.Target.Hosts)).ToArray();
        try
        {
            var stats = NBomberRunner
                .RegisterScenarios(
                    [.. scenario.Flows.Zip(clients, (flow, client) => NBomberScenario.Make(run.Name, scenario, flow, client, run.WarmUp))])
                .WithTestSuite("tunnel2")
                .WithTestName(run.Name)
                .WithReportFolder(run.Folder)
                .WithReportFileName(run.Name)
                .WithReportFormats(ReportFormat.Html, ReportFormat.Md, ReportFormat.Csv)
                .Run();
            IReadOnlyDictionary<string, FlowFigures> figures = scenario.Flows
                .Select((flow, i) => (flow.Name, Figures: FiguresOf(
                    stats.ScenarioStats.Single(item => item.ScenarioName == NBomberScenario.NameOf(run.Name, scenario, flow)), clients[i])))
                .ToDictionary(static item => item.Name, static item => item.Figures);
            return Task.FromResult(figures);
        }
        finally
        {
            foreach (var client in clients)
            {
                client.Dispose();
            }
        }
    }

    private static FlowFigures FiguresOf(ScenarioStats stats, VisitorClient client)
    {
        var hasLatency = stats.Ok.Request.Count > 0;
        return new FlowFigures(
            stats.Ok.Request.Count,
            stats.Fail.Request.Count,
            client.WrongBodies,
            hasLatency ? TimeSpan.FromMilliseconds(stats.Ok.Latency.Percent99) : null)
        {
            Mean = hasLatency ? TimeSpan.FromMilliseconds(stats.Ok.Latency.MeanMs) : null,
        };
    }
}
