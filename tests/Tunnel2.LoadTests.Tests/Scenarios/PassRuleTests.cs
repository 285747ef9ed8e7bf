using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Tests.Scenarios;

public sealed class PassRuleTests
{
    private static readonly TimeSpan _fiveMilliseconds = TimeSpan.FromMilliseconds(5);

    [Theory]
    [InlineData(100, 0, 0, 1.0, nameof(RuleVerdict.Passed))]
    [InlineData(99, 1, 0, 1.0, nameof(RuleVerdict.Failed))]
    [InlineData(99, 1, 0, 0.99, nameof(RuleVerdict.Passed))]
    [InlineData(98, 2, 0, 0.99, nameof(RuleVerdict.Failed))]
    [InlineData(99, 1, 1, 0.99, nameof(RuleVerdict.Failed))]
    [InlineData(0, 0, 0, 1.0, nameof(RuleVerdict.Void))]
    public void The_share_of_right_answers_decides_and_a_wrong_body_is_never_excused(
        long ok, long failed, long wrong, double share, string expected) =>
        Assert.Equal(
            expected, new OkShareRule(share).Judge(Figures(new FlowFigures(ok, failed, wrong, _fiveMilliseconds))).Verdict.ToString());

    [Fact]
    public void A_latency_beside_a_generator_that_lagged_is_not_judged()
    {
        var rule = new FlowLatencyRule("requests", TimeSpan.FromMilliseconds(10));
        var figures = Figures(new FlowFigures(10, 0, 0, _fiveMilliseconds));

        Assert.Equal(RuleVerdict.Passed, rule.Judge(figures).Verdict);
        Assert.Equal(RuleVerdict.Void, rule.Judge(figures with { LatenciesCount = false }).Verdict);
        Assert.Equal(RuleVerdict.Failed, (rule with { Limit = TimeSpan.FromMilliseconds(4) }).Judge(figures).Verdict);
        Assert.Equal(RuleVerdict.Void, (rule with { Flow = "other" }).Judge(figures).Verdict);
    }

    [Theory]
    [InlineData(9, nameof(RuleVerdict.Passed))]
    [InlineData(11, nameof(RuleVerdict.Failed))]
    public void The_worst_session_is_held_against_the_median_one(int worst, string expected)
    {
        var figures = Figures(new FlowFigures(10, 0, 0, _fiveMilliseconds)) with
        {
            SessionP99s = [_fiveMilliseconds, TimeSpan.FromMilliseconds(1), TimeSpan.FromMilliseconds(worst)],
        };

        Assert.Equal(expected, new SessionSpreadRule(2).Judge(figures).Verdict.ToString());
    }

    [Fact]
    public void The_knee_and_the_lag_have_limits_of_their_own()
    {
        var figures = Figures(new FlowFigures(10, 0, 0, _fiveMilliseconds));
        var knee = new Knee(999, 2000, "p99 was 300 ms");

        Assert.Equal(RuleVerdict.Failed, new KneeRule(1000).Judge(figures).Verdict);
        Assert.Equal(RuleVerdict.Failed, new KneeRule(1000).Judge(figures with { Knee = knee }).Verdict);
        Assert.Equal(
            RuleVerdict.Failed,
            new KneeRule(1000).Judge(figures with { Knee = knee with { Rate = null }, LatenciesCount = false }).Verdict);
        Assert.Equal(RuleVerdict.Void, new KneeRule(1000).Judge(figures with { Knee = knee with { IsUndecided = true } }).Verdict);
        Assert.Equal(
            RuleVerdict.Passed, new KneeRule(1000).Judge(figures with { Knee = knee with { Rate = 1000, IsUndecided = true } }).Verdict);
        Assert.Equal(RuleVerdict.Void, new LagRule(_fiveMilliseconds).Judge(figures).Verdict);
        Assert.Equal(RuleVerdict.Failed, new LagRule(_fiveMilliseconds).Judge(figures with { LagP99 = _fiveMilliseconds }).Verdict);
    }

    [Theory]
    [InlineData(10, nameof(RuleVerdict.Passed))]
    [InlineData(10.1, nameof(RuleVerdict.Failed))]
    public void A_mean_is_held_against_that_of_the_smaller_scenario(double milliseconds, string expected)
    {
        var flow = new FlowFigures(50, 0, 0, _fiveMilliseconds) { Mean = TimeSpan.FromMilliseconds(milliseconds) };
        var figures = Figures(flow) with { EarlierMeans = new Dictionary<string, TimeSpan> { ["in-flight-10"] = _fiveMilliseconds } };
        var rule = new LatencyGrowthRule("requests", "in-flight-10", 2);

        Assert.Equal(expected, rule.Judge(figures).Verdict.ToString());
        Assert.Equal(RuleVerdict.Void, rule.Judge(figures with { LatenciesCount = false }).Verdict);
        Assert.Equal(RuleVerdict.Void, rule.Judge(Figures(flow)).Verdict);
    }

    private static RunFigures Figures(FlowFigures flow) => new() { Flows = new Dictionary<string, FlowFigures> { ["requests"] = flow } };
}
