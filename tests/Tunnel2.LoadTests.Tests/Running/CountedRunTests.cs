using Tunnel2.LoadTests.Engine;
using Tunnel2.LoadTests.Reports;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Tests.Running;

public sealed class CountedRunTests
{
    private static readonly LoadScenario _scenario = ScenarioCatalog.Find("steady-1000")!;

    private int _runs;

    [Fact]
    public async Task A_run_of_a_generator_that_kept_its_schedule_counts_at_once()
    {
        Assert.Equal(0, (await RunAsync(Result(lags: false))).RunsBefore);
        Assert.Equal(1, _runs);
    }

    [Fact]
    public async Task After_a_lag_it_is_measured_again_and_the_report_says_so()
    {
        var result = await RunAsync(Result(lags: true), Result(lags: false));
        Assert.True(result.Passed);
        Assert.Equal((1, 2), (result.RunsBefore, _runs));
        Assert.Contains(
            "Measured again: in 1 run before this one the generator did not keep its schedule.",
            ReportWords.Sentences(ScenarioReport.Of(result)));
    }

    [Fact]
    public async Task A_generator_that_always_lags_ends_it_without_a_verdict()
    {
        var result = await RunAsync([.. Enumerable.Repeat(Result(lags: true), CountedRun.MostRuns)]);
        Assert.False(result.Passed);
        Assert.Equal(CountedRun.MostRuns, _runs);
    }

    [Fact]
    public async Task A_failed_request_is_not_measured_away()
    {
        Assert.False((await RunAsync(Result(lags: true, fails: true), Result(lags: false))).Passed);
        Assert.Equal(1, _runs);
    }

    [Fact]
    public async Task Neither_the_ancestor_nor_a_run_that_was_stopped_is_repeated()
    {
        var lagging = Result(lags: true);
        await RunAsync(lagging with { Scenario = _scenario with { AsAncestor = true } });
        await RunAsync(lagging with { Engine = lagging.Engine with { WasStopped = true } });
        Assert.Equal(2, _runs);
    }

    private static ScenarioResult Result(bool lags, bool fails = false)
    {
        var total = new StepStatistics { Arrivals = 100 };
        for (var i = 0; i < 100; i++)
        {
            total.Lag.Record(lags ? 10_000_000 : 1000);
            if (fails && i == 0)
            {
                total.Failures.Add(FailureKind.Reset, "", 0);
            }
            else
            {
                total.Succeed(1_000_000);
            }
        }

        var flow = new FlowResult(_scenario.Flows[0], total, [total], [], []);
        return new ScenarioResult(_scenario, DateTimeOffset.UnixEpoch, new EngineResult([flow], TimeSpan.FromSeconds(1), false, default));
    }

    private Task<ScenarioResult> RunAsync(params ScenarioResult[] results)
    {
        var next = 0;
        return CountedRun.RunAsync(() =>
        {
            _runs++;
            return Task.FromResult(results[next++]);
        });
    }
}
