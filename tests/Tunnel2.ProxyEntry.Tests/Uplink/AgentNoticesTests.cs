using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>What an agent says on its uplinks before it stops, and what becomes of its session.</summary>
public sealed class AgentNoticesTests
{
    [Fact]
    public Task An_agent_that_says_goodbye_gets_nothing_new_and_finishes_what_it_has() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var session = fixture.Session;
        var stream = session.Tunnel.TryOpenStream()!;
        stream.SendRequest("/");
        await fixture.UntilAsync(() => agent.Streams.Count == 1, "the stream reaches the agent");
        agent.Uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "");
        await fixture.UntilAsync(() => fixture.Directory.Find("web", out _) == NameState.Offline, "the goodbye is known");
        Assert.True(session.IsLeaving);
        Assert.Equal(AbsenceKind.SaidGoodbye, fixture.Directory.GetAbsence("web").Kind);
        Assert.False(agent.Serving.IsCompleted);
        agent.Streams[0].SendResponse(200, "ok"u8, end: true, out _);
        Assert.Equal("200", await stream.ReadHeadAsync());
        await stream.ReadBodyAsync();
        stream.Release();
        agent.Streams[0].Release();
        await agent.DoneAsync();
        Assert.Equal(1, fixture.Metrics["tunnel2.entry.session.duration:Shutdown"]);
    });

    [Fact]
    public Task An_agent_that_says_goodbye_on_one_of_two_uplinks_is_still_there() => AcceptorFixture.RunAsync(async fixture =>
    {
        var first = await fixture.ConnectAsync();
        var second = await fixture.JoinAsync(first.Welcome, 1);
        await second.WelcomedAsync();
        var session = fixture.Session;
        first.Uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "");
        await fixture.UntilAsync(() => session.Tunnel.Uplinks.Count == 1, "the first uplink has ended");
        Assert.Same(session, fixture.Session);
        Assert.False(session.IsLeaving);
        second.Uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "");
        await fixture.UntilAsync(() => session.IsLeaving, "the goodbye is known");
        await second.DoneAsync();
        Assert.Equal(NameState.Offline, fixture.Directory.Find("web", out _));
    });

    [Fact]
    public Task An_agent_that_hands_over_serves_on_until_its_successor_is_there() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync(AcceptorFixture.Hello(owner: "key"));
        var session = fixture.Session;
        var leaving = session.Leaving;
        Assert.Equal(RejectCode.NameTaken, (await fixture.RefusedAsync(AcceptorFixture.Hello(instance: "b", owner: "key"))).Code);
        agent.Uplink.SendGoAwayNotice(SessionEndReason.HandOver, "");
        await fixture.UntilAsync(() => session.IsLeaving, "the hand-over is known");
        Assert.Same(session, fixture.Session);
        await fixture.UntilAsync(() => leaving.IsCancellationRequested, "what has no end of its own gets one");
        session.Tunnel.TryOpenStream()!.Release();
        Assert.Equal(RejectCode.NameTaken, (await fixture.RefusedAsync(AcceptorFixture.Hello(instance: "c", owner: "other"))).Code);
        var later = session.Leaving;
        agent.Uplink.SendGoAwayNotice(SessionEndReason.HandOver, "");
        await fixture.SettleAsync();
        Assert.False(later.IsCancellationRequested);
        var successor = await fixture.ConnectAsync(AcceptorFixture.Hello(instance: "b", owner: "key"));
        Assert.Equal(successor.Welcome.Epoch, (ulong)fixture.Session.Epoch);
        await fixture.UntilAsync(() => agent.Goodbyes.Count > 0, "the predecessor hears of it");
        Assert.Equal(SessionEndReason.Superseded, agent.Goodbyes[0].Reason);
    });
}
