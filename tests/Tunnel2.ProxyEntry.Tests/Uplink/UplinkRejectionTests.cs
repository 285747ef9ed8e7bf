using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>Agents that are refused: they have time to read why, and no more.</summary>
public sealed class UplinkRejectionTests
{
    [Fact]
    public Task Who_is_refused_has_a_second_to_read_why() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.SayAsync(Frame.Ping(1));
        await agent.ReadAnswerAsync();
        fixture.Time.Advance(TimeSpan.FromMilliseconds(999));
        await fixture.SettleAsync();
        Assert.False(agent.Serving.IsCompleted);
        fixture.Time.Advance(TimeSpan.FromMilliseconds(1));
        await agent.DoneAsync();
    });

    [Fact]
    public Task Who_is_refused_and_continues_talking_is_not_listened_to_for_ever() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.SayAsync(Frame.Ping(1));
        await agent.ReadAnswerAsync();
        await agent.SendAsync(new byte[60 * 1024]);
        await fixture.SettleAsync();
        Assert.False(agent.Serving.IsCompleted);
        await agent.SendAsync(new byte[4 * 1024]);
        await agent.DoneAsync();
    });

    [Fact]
    public Task A_refusal_that_cannot_be_sent_is_an_end_like_any() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = fixture.Dial();
        agent.Acceptors.FailSendAt = 1;
        await agent.SendAsync(Frame.Ping(1));
        await agent.DoneAsync();
        Assert.Contains(fixture.Log.Of(2005), static line => line.EndsWith("The send was made to fail.", StringComparison.Ordinal));
    });
}
