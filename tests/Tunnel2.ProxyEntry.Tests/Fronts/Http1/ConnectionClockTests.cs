using Tunnel2.ProxyEntry.Fronts.Http1;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

public sealed class ConnectionClockTests
{
    private static readonly long[] _limits = [100, 200, 100, long.MaxValue, 50];

    [Fact]
    public void A_phase_expires_at_its_limit_and_once()
    {
        var clock = new ConnectionClock();
        clock.Begin(ConnectionPhase.Head, 1000);
        Assert.False(clock.IsLate(_limits, 1099));
        Assert.False(clock.TryExpire(_limits, 1099));
        Assert.True(clock.IsLate(_limits, 1100));
        Assert.True(clock.TryExpire(_limits, 1100));
        Assert.Equal(ConnectionPhase.Expired, clock.Phase);
        Assert.False(clock.IsLate(_limits, 9999));
        Assert.False(clock.TryExpire(_limits, 9999));
    }

    [Fact]
    public void The_first_to_move_on_wins()
    {
        var clock = new ConnectionClock();
        clock.Begin(ConnectionPhase.Idle, 0);
        Assert.True(clock.TryMoveOn(ConnectionPhase.Head, 199));
        Assert.False(clock.TryExpire(_limits, 250));
        Assert.True(clock.TryExpire(_limits, 299));
        Assert.False(clock.TryMoveOn(ConnectionPhase.Exchange, 299));
    }

    [Fact]
    public void An_exchange_never_expires()
    {
        var clock = new ConnectionClock();
        clock.Begin(ConnectionPhase.Exchange, 0);
        Assert.False(clock.TryExpire(_limits, long.MaxValue >> 3));
    }

    [Theory]
    [InlineData(nameof(ConnectionPhase.New), false)]
    [InlineData(nameof(ConnectionPhase.Idle), true)]
    [InlineData(nameof(ConnectionPhase.Head), false)]
    [InlineData(nameof(ConnectionPhase.Exchange), false)]
    [InlineData(nameof(ConnectionPhase.Draining), false)]
    [InlineData(nameof(ConnectionPhase.Expired), false)]
    public void Only_a_connection_between_two_requests_can_be_ended_at_once(string phase, bool expected)
    {
        var clock = new ConnectionClock();
        clock.Begin(Enum.Parse<ConnectionPhase>(phase), 5);
        Assert.Equal(expected, clock.TryExpireIdle(6));
    }
}
