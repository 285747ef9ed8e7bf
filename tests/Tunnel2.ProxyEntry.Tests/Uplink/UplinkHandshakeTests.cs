using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>Handshakes that come to nothing.</summary>
public sealed class UplinkHandshakeTests
{
    [Fact]
    public Task An_agent_that_says_nothing_is_given_up_when_the_time_is_over() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = fixture.Dial();
        fixture.Time.Advance(ProtocolLimits.HandshakeTimeout - TimeSpan.FromMilliseconds(1));
        await fixture.SettleAsync();
        Assert.False(agent.Serving.IsCompleted);
        fixture.Time.Advance(TimeSpan.FromMilliseconds(1));
        await agent.DoneAsync();
        Assert.EndsWith("TimedOut", Assert.Single(fixture.Log.Of(2005)), StringComparison.Ordinal);
    });

    [Fact]
    public Task What_TLS_took_of_the_time_is_gone() => AcceptorFixture.RunAsync(async fixture =>
    {
        var connected = fixture.Time.GetTimestamp();
        fixture.Time.Advance(TimeSpan.FromSeconds(8));
        var agent = fixture.Dial(new UplinkPeer(null, Connected: connected));
        fixture.Time.Advance(TimeSpan.FromMilliseconds(1_999));
        await fixture.SettleAsync();
        Assert.False(agent.Serving.IsCompleted);
        fixture.Time.Advance(TimeSpan.FromMilliseconds(1));
        await agent.DoneAsync();
        Assert.Single(fixture.Log.Of(2005));
        var late = fixture.Dial(new UplinkPeer(null, Connected: connected));
        await late.DoneAsync();
    });

    [Fact]
    public Task A_stop_gives_up_a_handshake() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = fixture.Dial();
        await fixture.Stop.CancelAsync();
        await agent.DoneAsync();
        Assert.EndsWith("Closed", Assert.Single(fixture.Log.Of(2005)), StringComparison.Ordinal);
    });

    [Fact]
    public Task An_agent_that_hangs_up_gets_no_answer() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = fixture.Dial();
        agent.Transport.ShutdownSend();
        await agent.DoneAsync();
        Assert.Equal(0, agent.Acceptors.Sends);
        Assert.EndsWith("Closed", Assert.Single(fixture.Log.Of(2005)), StringComparison.Ordinal);
    });
}
