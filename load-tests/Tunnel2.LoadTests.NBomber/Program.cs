using NBomber.Contracts.Stats;
using NBomber.CSharp;
using Tunnel2.LoadTests.NBomber;
using Tunnel2.LoadTests.Reports;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Scenarios;
using Arguments = Tunnel2.LoadTests.CommandLine; // NBomber brings a namespace of that name.

var options = Arguments.Parse(args, out var error);
if (options is null)
{
    await (error is null ? Console.Out : Console.Error).WriteLineAsync(error ?? Arguments.Usage);
    return error is null ? 0 : 2;
}

try
{
    var folder = ResultsFolder.Prepare(options.Results);
    var passed = true;
    foreach (var scenario in ScenarioCatalog.Choose(options.Scenarios))
    {
        passed &= await RunAsync(scenario.Scale(options.DurationScale), folder.PathOf(scenario.Name));
    }

    return passed ? 0 : 1;
}
catch (LoadFailedException e)
{
    await Console.Error.WriteLineAsync(e.Message);
    return 2;
}

async Task<bool> RunAsync(LoadScenario scenario, string folder)
{
    await using var target = await LoadTargets.OpenAsync(scenario, options, CancellationToken.None);
    var clients = scenario.Flows.Select(flow => new VisitorClient(flow, target.EndPoint, target.Hosts)).ToArray();
    if (scenario.CutUplinkEvery is { } interval)
    {
        target.BeginCutting(interval);
    }

    var stats = NBomberRunner
        .RegisterScenarios([.. scenario.Flows.Zip(clients, (flow, client) => NBomberScenario.Make(scenario, flow, client, options.WarmUp))])
        .WithTestSuite("tunnel2")
        .WithTestName(scenario.Name)
        .WithReportFolder(folder)
        .WithReportFileName(scenario.Name)
        .WithReportFormats(ReportFormat.Html, ReportFormat.Md, ReportFormat.Csv)
        .Run();
    var passed = true;
    foreach (var outcome in scenario.Rules.Select(rule => rule.Judge(ToFigures(scenario, stats, clients))))
    {
        Console.WriteLine($"  {ReportWords.Verdict(outcome.Verdict)}: {outcome.Rule} ({outcome.Found})");
        // What NBomber does not measure (a knee, the sessions apart, its own lag) is for the other program to judge.
        passed &= outcome.Verdict != RuleVerdict.Failed;
    }

    foreach (var client in clients)
    {
        client.Dispose();
    }

    return passed;
}

static RunFigures ToFigures(LoadScenario scenario, NodeStats stats, VisitorClient[] clients) => new()
{
    Flows = scenario.Flows.Select(
        (flow, i) => (flow.Name, Figures: FiguresOf(
            stats.ScenarioStats.Single(item => item.ScenarioName == NBomberScenario.NameOf(scenario, flow)), clients[i])))
        .ToDictionary(static item => item.Name, static item => item.Figures),
};

static FlowFigures FiguresOf(ScenarioStats stats, VisitorClient client) => new(
    stats.Ok.Request.Count,
    stats.Fail.Request.Count,
    client.WrongBodies,
    stats.Ok.Request.Count == 0 ? null : TimeSpan.FromMilliseconds(stats.Ok.Latency.Percent99));
