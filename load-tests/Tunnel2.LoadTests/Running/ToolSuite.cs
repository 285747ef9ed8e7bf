using System.Globalization;
using Tunnel2.LoadTests.Reports;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Running;

/// <summary>
/// The suite with another load tool as its generator: the same scenarios, tunnels and rules. What the tool does not measure (its lag,
/// single sessions) is said and decides nothing.
/// </summary>
/// <param name="tool">The tool.</param>
/// <param name="open">Opens what a scenario runs against.</param>
/// <param name="output">Where verdicts go.</param>
internal sealed class ToolSuite(ILoadTool tool, Func<LoadScenario, Task<LoadTarget>> open, TextWriter output)
{
    private const int Passed = 0;
    private const int Failed = 1;
    private const int NotBegun = 2;

    // Tunnel2's and the ancestor's, each compared with its own.
    private readonly Dictionary<string, TimeSpan> _means = [];
    private readonly Dictionary<string, TimeSpan> _ancestorMeans = [];

    /// <summary>Runs what the command line says.</summary>
    /// <returns>The exit code: that of <see cref="LoadProgram"/>.</returns>
    public static async Task<int> RunAsync(string[] arguments, ILoadTool tool, TextWriter output, TextWriter errors)
    {
        var options = CommandLine.Parse(arguments, out var error);
        if (options is null)
        {
            await (error is null ? output : errors).WriteLineAsync(error ?? CommandLine.Usage);
            return error is null ? Passed : NotBegun;
        }

        try
        {
            var folder = ResultsFolder.Prepare(options.Results);
            var suite = new ToolSuite(tool, scenario => LoadTargets.OpenAsync(scenario, options, CancellationToken.None), output);
            var passed = true;
            foreach (var scenario in LoadProgram.Choose(options))
            {
                var scaled = scenario.Scale(options.DurationScale);
                passed &= await suite.RunAsync(scaled, folder.PathOf(scenario.Title), options.WarmUp);
            }

            await output.WriteLineAsync($"Reports: a folder for each scenario in {folder.PathOf("")}");
            return passed ? Passed : Failed;
        }
        catch (LoadFailedException e)
        {
            await errors.WriteLineAsync(e.Message);
            return NotBegun;
        }
    }

    /// <summary>Runs one scenario and prints what came of its rules.</summary>
    /// <param name="scenario">The scenario, scaled.</param>
    /// <param name="folder">Where the tool's reports go.</param>
    /// <param name="warmUp">How long each kind of request is sent before it counts.</param>
    /// <returns>Whether no rule was broken. The ancestor's design cannot break one.</returns>
    public async Task<bool> RunAsync(LoadScenario scenario, string folder, TimeSpan warmUp)
    {
        await using var target = await open(scenario);
        if (scenario.CutUplinkEvery is { } interval)
        {
            target.BeginCutting(interval);
        }

        var figures = scenario.Flows is [{ StopAtKnee: true } flow]
            ? await ClimbAsync(scenario, flow, target, folder, warmUp)
            : new RunFigures { Flows = await tool.RunAsync(new ToolRun(scenario, scenario.Title, target, folder, warmUp)) };
        var means = scenario.AsAncestor ? _ancestorMeans : _means;
        figures = figures with { EarlierMeans = new Dictionary<string, TimeSpan>(means) };
        var outcomes = scenario.Rules.Select(rule => rule.Judge(figures)).ToArray();
        foreach (var outcome in outcomes)
        {
            await output.WriteLineAsync($"  {ReportWords.Verdict(outcome.Verdict)}: {outcome.Rule} ({outcome.Found})");
        }

        if (figures.Flows[scenario.Flows[0].Name].Mean is { } mean)
        {
            means[scenario.Name] = mean;
        }

        return scenario.AsAncestor || outcomes.All(static outcome => outcome.Verdict != RuleVerdict.Failed);
    }

    /// <summary>Runs one step after another, each with a report of its own, until one is not held.</summary>
    private async Task<RunFigures> ClimbAsync(
        LoadScenario scenario, TrafficFlow flow, LoadTarget target, string folder, TimeSpan warmUp)
    {
        double? held = null;
        var total = new FlowFigures(0, 0, 0, null);
        foreach (var step in flow.Steps)
        {
            var name = string.Create(CultureInfo.InvariantCulture, $"{scenario.Title}-{step.Rate:0}");
            var one = scenario with { Flows = [flow with { Steps = [step], StopAtKnee = false }] };
            var figures = (await tool.RunAsync(
                new ToolRun(one, name, target, Path.Combine(folder, name), held is null ? warmUp : TimeSpan.Zero)))[flow.Name];
            total = new FlowFigures(
                total.Ok + figures.Ok, total.Failed + figures.Failed, total.WrongBodies + figures.WrongBodies, figures.P99);
            if (KneeFinder.WhyNotHeld(step.Arrivals, figures) is { } why)
            {
                return Figures(new Knee(held, step.Rate, why.Reason, why.IsUndecided));
            }

            held = step.Rate;
        }

        return Figures(new Knee(held, null, "every step that was run was held"));

        RunFigures Figures(Knee knee)
        {
            output.WriteLine($"  {ReportWords.KneeSentence(knee)}");
            return new RunFigures { Flows = new Dictionary<string, FlowFigures> { [flow.Name] = total }, Knee = knee };
        }
    }
}
