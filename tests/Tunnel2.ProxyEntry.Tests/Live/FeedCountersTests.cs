using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.Tests.Live;

public sealed class FeedCountersTests
{
    [Fact]
    public void What_an_earlier_intake_counted_stays_when_the_next_one_begins()
    {
        var counters = new FeedCounters();
        counters.Update(Intake(late: 2, bad: 3), missed: 4, dropped: 5);
        Assert.Equal((2L, 3L, 4L, 5L), (counters.Late, counters.Bad, counters.Missed, counters.Dropped));
        counters.Keep(Intake(late: 2, bad: 3));
        counters.Update(Intake(late: 10, bad: 20), missed: 1, dropped: 6);
        Assert.Equal((12L, 23L, 1L, 6L), (counters.Late, counters.Bad, counters.Missed, counters.Dropped));
    }

    private static RequestIntake Intake(int late, int bad)
    {
        var filter = new WatermarkFilter(TimeSpan.Zero);
        var intake = new RequestIntake(filter);
        intake.AdvanceTo(100 * WatermarkFilter.Second);
        for (var i = 0; i < late; i++)
        {
            Assert.False(filter.Admit(1));
        }

        for (var i = 0; i < bad; i++)
        {
            Assert.False(intake.TryTake(999, [], out _));
        }

        return intake;
    }
}
