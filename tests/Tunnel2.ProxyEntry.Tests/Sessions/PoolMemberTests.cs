using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Sessions;

public sealed class PoolMemberTests
{
    private readonly ManualTimeProvider _time = new();

    // A timestamp of zero means that nothing has happened.
    public PoolMemberTests() => _time.Advance(TimeSpan.FromSeconds(1));

    [Fact]
    public void A_member_that_joins_begins_with_a_tenth_of_its_share_and_has_all_of_it_at_the_end_of_its_slow_start()
    {
        var member = Joined(Make(slowStart: 10));
        Assert.Equal(100, member.WeightAt(member.Now));
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal(550, member.WeightAt(member.Now));
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal(1000, member.WeightAt(member.Now));
        _time.Advance(TimeSpan.FromDays(30));
        Assert.Equal(1000, member.WeightAt(member.Now));
    }

    [Fact]
    public void Without_a_slow_start_it_has_all_of_it_at_once() =>
        Assert.Equal(1000, Joined(Make(slowStart: 0)).WeightAt(_time.GetTimestamp()));

    [Fact]
    public void The_newest_statement_about_its_service_counts_whenever_it_comes()
    {
        var member = Joined(Make());
        Assert.True(member.IsHealthy);
        Assert.True(member.Report(ServiceState.Unhealthy, 2));
        Assert.False(member.IsHealthy);
        Assert.False(member.Report(ServiceState.Healthy, 1));
        Assert.False(member.Report(ServiceState.Healthy, 2));
        Assert.False(member.IsHealthy);
        Assert.False(member.Report((ServiceState)9, 7));
        Assert.True(member.Report(ServiceState.Healthy, 3));
        Assert.True(member.IsHealthy);
        Assert.False(member.Report(ServiceState.Healthy, 4));
    }

    [Fact]
    public void A_service_that_works_again_starts_slowly()
    {
        var member = Joined(Make(slowStart: 10));
        _time.Advance(TimeSpan.FromSeconds(10));
        member.Report(ServiceState.Unhealthy, 1);
        Assert.Equal(1000, member.WeightAt(member.Now));
        member.Report(ServiceState.Healthy, 2);
        Assert.Equal(100, member.WeightAt(member.Now));
    }

    [Fact]
    public void A_member_whose_service_took_no_connection_is_spared_for_the_pause_and_then_starts_slowly()
    {
        var member = Joined(Make(slowStart: 10, pause: 1));
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.False(member.IsPaused(member.Now));
        member.Spare();
        Assert.True(member.IsPaused(member.Now));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.False(member.IsPaused(member.Now));
        Assert.Equal(100, member.WeightAt(member.Now));
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal(1000, member.WeightAt(member.Now));
    }

    [Fact]
    public void Without_a_pause_it_is_not_spared()
    {
        var member = Joined(Make(pause: 0));
        member.Spare();
        Assert.False(member.IsPaused(member.Now));
    }

    [Fact]
    public void A_service_of_udp_is_spared_also_without_a_pause()
    {
        var member = Make(pause: 0);
        var session = Sample.Member(member, 1, kind: SessionKind.Udp);
        member.Join(new SessionPool(session.Terms), session, 1);
        member.Spare();
        Assert.True(member.IsPaused(member.Now));
        _time.Advance(PoolMember.DatagramPause);
        Assert.False(member.IsPaused(member.Now));
    }

    private PoolMember Make(int slowStart = 10, int pause = 1) =>
        new(_time, TimeSpan.FromSeconds(slowStart), TimeSpan.FromSeconds(pause), isHealthy: true);

    private static PoolMember Joined(PoolMember member)
    {
        var session = Sample.Member(member, 1);
        member.Join(new SessionPool(session.Terms), session, 1);
        return member;
    }
}
