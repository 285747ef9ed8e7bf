using Tunnel2.LoadTests.Engine;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Tests.Engine;

public sealed class ArrivalScheduleTests
{
    private const long Second = 1_000_000_000;

    [Fact]
    public void Arrivals_are_evenly_spaced_and_steps_follow_one_another()
    {
        var dues = Run(LoadStep.Steady(4, 1), LoadStep.Steady(2, 1));

        Assert.Equal([1000, 1250, 1500, 1750, 2000, 2500], dues.Select(static item => (int)(item.Due * 1000 / Second)));
        Assert.Equal([0, 0, 0, 0, 1, 1], dues.Select(static item => item.Step));
    }

    [Fact]
    public void Arrivals_of_a_burst_are_due_at_one_instant()
    {
        var dues = Run(LoadStep.Bursts(3, 2, 1));

        Assert.Equal([1000, 1000, 1000, 1500, 1500, 1500], dues.Select(static item => (int)(item.Due * 1000 / Second)));
    }

    [Fact]
    public void Late_arrivals_of_a_long_step_have_not_drifted()
    {
        var dues = Run(LoadStep.Steady(20_000, 10));

        Assert.Equal(200_000, dues.Count);
        Assert.Equal(Second + (10 * Second) - (Second / 20_000), dues[^1].Due);
    }

    [Fact]
    public void A_stopped_one_has_no_more()
    {
        var schedule = new ArrivalSchedule([LoadStep.Steady(10, 10)], Second);

        schedule.Stop();

        Assert.True(schedule.IsOver);
    }

    private static List<(long Due, int Step)> Run(params LoadStep[] steps)
    {
        var schedule = new ArrivalSchedule(steps, Second);
        var dues = new List<(long, int)>();
        while (!schedule.IsOver)
        {
            Assert.Equal(dues.Count, schedule.Index);
            dues.Add((schedule.Due, schedule.Step));
            schedule.Advance();
        }

        return dues;
    }
}
