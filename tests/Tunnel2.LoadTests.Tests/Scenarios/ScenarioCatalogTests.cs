using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Tests.Scenarios;

public sealed class ScenarioCatalogTests
{
    public static TheoryData<string> Names => [.. ScenarioCatalog.All.Select(static scenario => scenario.Name)];

    [Fact]
    public void Every_promised_scenario_is_there() => Assert.Equal(
        [
            "baseline", "post-1kb", "post-10kb", "post-100kb", "ramp", "aggressive", "max-throughput", "ultra", "sustained", "steady-200",
            "steady-1000", "concurrent-10", "concurrent-50", "concurrent-1000", "in-flight-10", "in-flight-50", "spread-40", "churn",
            "slow-readers", "uplink-loss", "mixed", "schedule",
        ],
        ScenarioCatalog.All.Select(static scenario => scenario.Name));

    [Fact]
    public void Aggressive_is_exactly_56_100_requests_at_full_scale() => Assert.Equal(56_100, ScenarioCatalog.Find("aggressive")!.Arrivals);

    [Fact]
    public void Baseline_is_ten_a_second_for_two_minutes() =>
        Assert.Equal(
            (1200L, TimeSpan.FromMinutes(2)), (ScenarioCatalog.Find("Baseline")!.Arrivals, ScenarioCatalog.Find("baseline")!.Duration));

    [Fact]
    public void The_acceptance_has_a_limit_of_latency_and_a_figure_of_the_ancestor_in_each_scenario()
    {
        var acceptance = ScenarioCatalog.Choose(["acceptance"]).ToArray();

        Assert.Equal(
            ["aggressive", "steady-1000", "concurrent-10", "concurrent-50", "in-flight-10", "in-flight-50", "spread-40"],
            acceptance.Select(static scenario => scenario.Name));
        Assert.All(acceptance, static scenario =>
        {
            Assert.Contains(new OkShareRule(1), scenario.Rules);
            Assert.Contains(new FlowLatencyRule("requests", TimeSpan.FromMilliseconds(50)), scenario.Rules);
            Assert.NotNull(scenario.AncestorMean);
        });
        Assert.Contains(new LatencyGrowthRule("requests", "in-flight-10", 2), ScenarioCatalog.Find("in-flight-50")!.Rules);
    }

    [Fact]
    public void What_a_scenario_is_compared_with_runs_before_it_and_once() =>
        Assert.Equal(
            ["concurrent-10", "concurrent-50", "baseline", "in-flight-10", "in-flight-50"],
            ScenarioCatalog.Choose(["concurrent-50", "baseline", "concurrent-10", "in-flight-50"])
                .Select(static scenario => scenario.Name));

    [Theory]
    [MemberData(nameof(Names))]
    public void A_scenario_can_be_judged_and_scaled(string name)
    {
        var scenario = ScenarioCatalog.Find(name)!;
        var scaled = scenario.Scale(0.1);

        Assert.NotEmpty(scenario.Rules);
        Assert.Distinct(scenario.Flows.Select(static flow => flow.Name));
        Assert.Equal(scenario.Duration.TotalSeconds / 10, scaled.Duration.TotalSeconds, 1e-6);
        Assert.InRange(scaled.Arrivals, scenario.Flows.Count, (scenario.Arrivals / 9) + 1);
        Assert.Equal(scenario.Flows.Select(static flow => flow.Steps[^1].Rate), scaled.Flows.Select(static flow => flow.Steps[^1].Rate));
    }

    [Fact]
    public void However_short_a_burst_is_it_stays_whole() =>
        Assert.Equal(1000, ScenarioCatalog.Find("concurrent-1000")!.Scale(0.001).Arrivals);
}
