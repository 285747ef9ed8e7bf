using System.Net;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Tests.Running;

public sealed class ToolSuiteTests : IDisposable
{
    private readonly StringWriter _output = new();

    public void Dispose() => _output.Dispose();

    [Fact]
    public async Task A_rising_load_ends_after_the_first_step_that_is_not_held_and_can_pass()
    {
        var tool = new Tool(static rate => rate < 3000 ? Good(rate * 10) : new FlowFigures((long)rate * 5, (long)rate * 5, 0, null));

        Assert.True(await RunAsync("ultra", tool));
        Assert.Equal(["ultra-1000", "ultra-2000", "ultra-3000"], tool.Runs.Select(static run => run.Name));
        Assert.Equal(["ultra-1000", "ultra-2000", "ultra-3000"], tool.Runs.Select(static run => Path.GetFileName(run.Folder)));
        Assert.Equal([5, 0, 0], tool.Runs.Select(static run => (int)run.WarmUp.TotalSeconds));
        Assert.Contains(
            "Knee: 2,000/s was held, 3,000/s was not: 50 % of the requests failed", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_rising_load_whose_first_step_is_not_held_fails()
    {
        var slow = TimeSpan.FromMilliseconds(500);
        Assert.False(await RunAsync("ultra", new Tool(rate => new FlowFigures((long)rate * 10, 0, 0, slow))));
        Assert.Contains("does not hold: the highest rate", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_tool_that_is_too_slow_itself_breaks_no_rule()
    {
        Assert.True(await RunAsync("ultra", new Tool(static _ => Good(1000))));
        Assert.Contains("cannot be judged: the highest rate", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Every_step_that_is_held_is_a_pass_too() =>
        Assert.True(await RunAsync("ultra", new Tool(static rate => Good(rate * 10))));

    [Fact]
    public async Task Every_scenario_can_pass()
    {
        var suite = Suite(new Tool(static rate => Good(rate * 10)));
        foreach (var scenario in ScenarioCatalog.Choose(["all"]))
        {
            Assert.True(await suite.RunAsync(scenario, "reports", TimeSpan.FromSeconds(5)), $"{scenario.Name}: {_output}");
        }
    }

    [Fact]
    public async Task The_mean_of_a_smaller_scenario_is_remembered()
    {
        var mean = TimeSpan.FromMilliseconds(1);
        var suite = Suite(new Tool(_ => Good(100) with { Mean = mean }));

        Assert.True(await suite.RunAsync(ScenarioCatalog.Find("in-flight-10")!, "reports", TimeSpan.Zero));
        mean = TimeSpan.FromMilliseconds(2.5);
        Assert.False(await suite.RunAsync(ScenarioCatalog.Find("in-flight-50")!, "reports", TimeSpan.Zero));
        Assert.Contains("2.50 times", _output.ToString(), StringComparison.Ordinal);
        Assert.True(await suite.RunAsync(ScenarioCatalog.Find("in-flight-50")! with { AsAncestor = true }, "reports", TimeSpan.Zero));
    }

    private static FlowFigures Good(double requests) =>
        new((long)requests, 0, 0, TimeSpan.FromMilliseconds(5)) { Mean = TimeSpan.FromMilliseconds(1) };

    private Task<bool> RunAsync(string scenario, Tool tool) =>
        Suite(tool).RunAsync(ScenarioCatalog.Find(scenario)!, "reports", TimeSpan.FromSeconds(5));

    private ToolSuite Suite(Tool tool) => new(tool, static _ => Task.FromResult<LoadTarget>(new Target()), _output);

    /// <summary>Reports what the test says for the rate of each flow's last step.</summary>
    private sealed class Tool(Func<double, FlowFigures> answer) : ILoadTool
    {
        public List<ToolRun> Runs { get; } = [];

        public Task<IReadOnlyDictionary<string, FlowFigures>> RunAsync(ToolRun run)
        {
            Runs.Add(run);
            return Task.FromResult<IReadOnlyDictionary<string, FlowFigures>>(
                run.Scenario.Flows.ToDictionary(static flow => flow.Name, flow => answer(flow.Steps[^1].Rate)));
        }
    }

    private sealed class Target : LoadTarget
    {
        public override IPEndPoint EndPoint { get; } = new(IPAddress.Loopback, 1);

        public override IReadOnlyList<string> Hosts => ["load-1.localhost"];

        public override void BeginCutting(TimeSpan every)
        {
        }
    }
}
