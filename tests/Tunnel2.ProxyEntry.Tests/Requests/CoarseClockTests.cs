using Tunnel2.ProxyEntry.Requests;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Requests;

public sealed class CoarseClockTests
{
    [Fact]
    public void It_goes_with_the_clock_that_it_was_given()
    {
        var time = new ManualTimeProvider();
        var clock = new CoarseClock(time);
        var before = clock.Milliseconds;
        Assert.Equal(before, clock.Milliseconds);
        time.Advance(TimeSpan.FromMilliseconds(1234));
        Assert.Equal(before + 1234, clock.Milliseconds);
    }

    [Fact]
    public void Of_the_systems_clock_it_is_the_coarse_count()
    {
        var before = Environment.TickCount64;
        Assert.InRange(new CoarseClock(TimeProvider.System).Milliseconds, before, Environment.TickCount64);
    }

    [Fact]
    public void A_requests_progress_is_measured_by_the_clock_of_its_times()
    {
        var time = new ManualTimeProvider();
        var clock = new CoarseClock(time);
        var request = new ForwardedRequest();
        request.Begin(time);
        time.Advance(TimeSpan.FromSeconds(7));
        Assert.Equal(7_000, request.IdleMilliseconds(clock.Milliseconds));
        request.Touch();
        Assert.Equal(0, request.IdleMilliseconds(clock.Milliseconds));
    }
}
