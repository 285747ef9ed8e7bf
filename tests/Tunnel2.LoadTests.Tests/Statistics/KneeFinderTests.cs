using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Tests.Statistics;

public sealed class KneeFinderTests
{
    private const long Millisecond = 1_000_000;

    private static readonly LoadStep[] _steps = [LoadStep.Steady(100, 1), LoadStep.Steady(200, 1), LoadStep.Steady(300, 1)];

    [Fact]
    public void The_knee_is_the_last_step_before_the_first_that_was_too_slow()
    {
        var knee = KneeFinder.Find(_steps, [Step(100, 5), Step(200, 300), Step(300, 5)]);

        Assert.Equal((100.0, 200.0), (knee.Rate, knee.BrokeAt));
        Assert.StartsWith("p99 was 300", knee.Reason, StringComparison.Ordinal);
        Assert.False(knee.IsUndecided);
    }

    [Fact]
    public void More_than_one_in_a_hundred_failures_breaks_a_step_and_one_in_a_hundred_does_not()
    {
        Assert.Equal(200, KneeFinder.Find(_steps, [Step(100, 5, failed: 1), Step(200, 5), Step(300, 5, failed: 4)]).Rate);
        Assert.Equal(300, KneeFinder.Find(_steps, [Step(100, 5), Step(200, 5), Step(300, 5)]).Rate);
    }

    [Fact]
    public void A_generator_that_lags_is_named_as_the_reason()
    {
        var lagged = Step(200, 5);
        lagged.Lag.Record(50 * Millisecond);

        var knee = KneeFinder.Find(_steps, [Step(100, 5), lagged, Step(300, 5)]);
        Assert.Contains("the generator itself lagged", knee.Reason, StringComparison.Ordinal);
        Assert.True(knee.IsUndecided);
    }

    [Fact]
    public void What_fails_is_the_tunnels_fault_whether_the_generator_lagged_or_not()
    {
        var failing = Step(100, 5, failed: 50);
        failing.Lag.Record(50 * Millisecond);

        Assert.False(KneeFinder.Find(_steps, [failing, Step(200, 5), Step(300, 5)]).IsUndecided);
    }

    [Fact]
    public void Where_not_even_the_first_step_is_held_there_is_no_knee() =>
        Assert.Null(KneeFinder.Find(_steps, [Step(100, 500), new StepStatistics(), new StepStatistics()]).Rate);

    [Theory]
    [InlineData(1000, 990, 10, 99, null, false)]
    [InlineData(1000, 989, 11, 99, "1.1 % of the requests failed", false)]
    [InlineData(1000, 1000, 0, 101, "p99 was 101 ms", false)]
    [InlineData(1000, 949, 0, 5, "the generator itself sent only 94.9 %", true)]
    [InlineData(1000, 950, 0, 5, null, false)]
    [InlineData(50, 50, 0, 5, "50 requests are too few", true)]
    public void A_step_of_another_tool_is_judged_by_what_it_reports(
        long due, long ok, long failed, double p99, string? reason, bool isUndecided)
    {
        var why = KneeFinder.WhyNotHeld(due, new FlowFigures(ok, failed, 0, TimeSpan.FromMilliseconds(p99)));

        Assert.Equal(reason is null, why is null);
        Assert.StartsWith(reason ?? "", why?.Reason ?? "", StringComparison.Ordinal);
        Assert.Equal(isUndecided, why?.IsUndecided ?? false);
    }

    [Fact]
    public void A_step_that_piles_up_requests_is_not_held_at_its_end()
    {
        var piling = Step(50, 5);
        piling.Arrivals = 100;

        Assert.False(KneeFinder.IsHeldAtItsEnd(_steps[0], piling));
        Assert.True(KneeFinder.IsHeldAtItsEnd(_steps[0], Step(100, 5)));
    }

    [Fact]
    public void Of_a_step_with_few_requests_nothing_can_be_said()
    {
        var knee = KneeFinder.Find(_steps, [Step(100, 5), Step(99, 5), Step(300, 5)]);

        Assert.Equal((100.0, 200.0), (knee.Rate, knee.BrokeAt));
        Assert.Equal("99 requests are too few to judge", knee.Reason);
        Assert.True(knee.IsUndecided);
    }

    private static StepStatistics Step(int requests, long milliseconds, int failed = 0)
    {
        var step = new StepStatistics { Arrivals = requests };
        step.Lag.Record(0);
        for (var i = 0; i < requests - failed; i++)
        {
            step.Succeed(milliseconds * Millisecond);
        }

        for (var i = 0; i < failed; i++)
        {
            step.Failures.Add(FailureKind.Reset, "", 0);
        }

        return step;
    }
}
