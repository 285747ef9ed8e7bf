using Tunnel2.Http2.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Http2.Tests.Frames;

public sealed class Http2FloodGuardTests
{
    [Fact]
    public void A_burst_is_taken_and_more_than_it_is_not()
    {
        var guard = new Http2FloodGuard(new ManualTimeProvider());
        for (var i = 0; i < Http2FloodGuard.Capacity; i++)
        {
            Assert.True(guard.TryTake());
        }

        Assert.False(guard.TryTake());
    }

    [Fact]
    public void Keepalive_pings_are_taken_for_years()
    {
        var time = new ManualTimeProvider();
        var guard = new Http2FloodGuard(time);
        for (var i = 0; i < 100_000; i++)
        {
            time.Advance(TimeSpan.FromSeconds(1));
            Assert.True(guard.TryTake());
        }
    }

    [Fact]
    public void Frames_of_ours_pay_for_windows_that_are_granted_again()
    {
        var guard = new Http2FloodGuard(new ManualTimeProvider());
        for (var i = 0; i < 100_000; i++)
        {
            guard.OnOwnFrame();
            Assert.True(guard.TryTake(2));
        }
    }

    /// <summary>As gRPC for Python does: one frame of ours brings a thousand messages, and each is granted again alone.</summary>
    [Theory]
    [InlineData(5)]
    [InlineData(9)]
    [InlineData(16 * 1024)]
    public void Bytes_of_ours_may_be_granted_again_in_as_many_pieces_as_there_were_messages(int message)
    {
        var guard = new Http2FloodGuard(new ManualTimeProvider());
        for (var frame = 0; frame < 100; frame++)
        {
            guard.OnOwnData(16 * 1024);
            for (var granted = 0; granted + message <= 16 * 1024; granted += message)
            {
                Assert.True(guard.TryTakeGrant(message));
                Assert.True(guard.TryTakeGrant(message));
            }
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(1000)]
    [InlineData(int.MaxValue)]
    public void Windows_that_return_nothing_are_a_flood_however_much_they_grant(int increment)
    {
        var guard = new Http2FloodGuard(new ManualTimeProvider());
        guard.OnOwnData(100);
        var taken = 0;
        while (guard.TryTakeGrant(increment))
        {
            taken++;
        }

        Assert.InRange(taken, Http2FloodGuard.Capacity, Http2FloodGuard.Capacity + 200);
    }

    [Fact]
    public void What_may_be_granted_again_does_not_add_up_without_end()
    {
        var guard = new Http2FloodGuard(new ManualTimeProvider());
        for (var i = 0; i < 1_000_000; i++)
        {
            guard.OnOwnData(16 * 1024);
        }

        var taken = 0;
        while (guard.TryTakeGrant(1024))
        {
            taken++;
        }

        Assert.InRange(taken, Http2FloodGuard.Capacity, Http2FloodGuard.Capacity + (64 * 1024));
    }

    [Fact]
    public void A_steady_flood_ends_although_time_passes()
    {
        var time = new ManualTimeProvider();
        var guard = new Http2FloodGuard(time);
        var taken = 0;
        while (guard.TryTake())
        {
            taken++;
            time.Advance(TimeSpan.FromMilliseconds(1));
        }

        Assert.InRange(taken, Http2FloodGuard.Capacity, 2 * Http2FloodGuard.Capacity);
    }
}
