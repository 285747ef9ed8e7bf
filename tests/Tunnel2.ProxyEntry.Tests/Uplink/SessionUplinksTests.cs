using System.IO.Pipelines;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>The uplinks of a session from their WELCOME to their end, and the session's own end with the last of them.</summary>
public sealed class SessionUplinksTests
{
    [Fact]
    public Task A_session_ends_with_its_only_uplink_and_is_known_as_lost() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var session = fixture.Session;
        fixture.Time.Advance(TimeSpan.FromMinutes(5));
        await agent.LoseAsync();
        Assert.Equal((0, 0, 0, 0), (fixture.Directory.Count, fixture.Joins.Count, fixture.Heartbeat.Count, fixture.Quota.Connections));
        Assert.Equal(AbsenceKind.Lost, fixture.Directory.GetAbsence("web").Kind);
        Assert.True(session.Tunnel.Completion.IsCompletedSuccessfully);
        Assert.Equal(1, fixture.Metrics["tunnel2.entry.session.duration:TransportFailed"]);
        Assert.Contains("offline after 00:05:00", Assert.Single(fixture.UplinksLog.Of(2001)), StringComparison.Ordinal);
    });

    [Fact]
    public Task A_session_outlives_each_uplink_but_its_last() => AcceptorFixture.RunAsync(async fixture =>
    {
        var first = await fixture.ConnectAsync();
        var second = await fixture.JoinAsync(first.Welcome, 1);
        await second.WelcomedAsync();
        var session = fixture.Session;
        await first.LoseAsync();
        Assert.Same(session, fixture.Session);
        Assert.Equal((1, 1, 1, 1), (fixture.Joins.Count, fixture.Heartbeat.Count, fixture.Quota.Connections, session.Tunnel.Uplinks.Count));
        Assert.StartsWith("Uplink 0 of session", Assert.Single(fixture.UplinksLog.Of(2009)), StringComparison.Ordinal);
        Assert.Empty(fixture.UplinksLog.Of(2001));

        // The free slot is taken by who comes next, as a further uplink and no new session.
        var third = await fixture.JoinAsync(first.Welcome, 2);
        await third.WelcomedAsync();
        Assert.Equal([1, 0], session.Tunnel.Uplinks.Select(static uplink => uplink.Slot));
        Assert.Single(fixture.UplinksLog.Of(2000));
        await second.LoseAsync();
        await third.LoseAsync();
        Assert.Equal(NameState.Offline, fixture.Directory.Find("web", out _));
        Assert.Single(fixture.UplinksLog.Of(2001));
    });

    [Fact]
    public Task An_agent_is_connected_also_where_its_other_uplinks_come_before_its_welcome_is_sent() =>
        AcceptorFixture.RunAsync(async fixture =>
        {
            var agent = fixture.Dial();
            EntrySession? session = null;
            fixture.Directory.Registered += registered => session = registered;
            UplinkConnection? further = null;
            agent.Acceptors.OnSend = _ =>
            {
                agent.Acceptors.OnSend = null;
                var transport = InMemoryTransport.CreatePair(1024, PipeScheduler.Inline).Left;
                session!.Tunnel.TryAdd(further = new UplinkConnection(transport, session.UplinkSettings));
            };
            await agent.SendAsync(AcceptorFixture.Hello().ToFrame());
            await agent.WelcomedAsync();
            Assert.Equal(2, session!.Tunnel.Uplinks.Count);
            Assert.Single(fixture.UplinksLog.Of(2000));
            Assert.Empty(fixture.UplinksLog.Of(2004));
            session.Tunnel.Remove(further!, new UplinkEnd(SessionEndReason.TransportFailed));
        });

    [Fact]
    public Task An_agent_that_breaks_the_protocol_on_one_uplink_loses_all() => AcceptorFixture.RunAsync(async fixture =>
    {
        var first = await fixture.ConnectAsync();
        var second = await fixture.JoinAsync(first.Welcome, 1);
        var answer = await second.ReadAnswerAsync();
        Assert.Equal(FrameType.Welcome, answer.Type);
        var session = fixture.Session;
        await second.SendAsync(Frame.Make(FrameType.Ping, FrameFlags.None, StreamId.Uplink, [1]));

        // The clock is stopped: the farewell of the one that broke it is not over before it hangs up.
        await fixture.UntilAsync(() => first.Run.IsCompleted, "the other uplink has ended");
        await second.HangUpAsync();
        await first.DoneAsync();
        Assert.Equal((SessionEndReason.ProtocolError, true), ((await first.Run).Reason, (await first.Run).ByPeer));
        Assert.Equal(SessionEndReason.ProtocolError, (await session.Tunnel.Completion).Reason);
        Assert.Equal(NameState.Offline, fixture.Directory.Find("web", out _));
    });

    [Fact]
    public Task A_lost_uplink_is_no_fault_of_the_others() => AcceptorFixture.RunAsync(async fixture =>
    {
        var first = await fixture.ConnectAsync();
        var second = await fixture.JoinAsync(first.Welcome, 1);
        await second.WelcomedAsync();
        await second.LoseAsync();
        await fixture.SettleAsync();
        Assert.False(first.Run.IsCompleted);
        Assert.Null(fixture.Session.Tunnel.Uplinks[0].End);
    });

    [Fact]
    public Task An_agent_that_was_let_in_just_before_its_server_left_service_hears_of_it() => AcceptorFixture.RunAsync(async fixture =>
    {
        // It counts as a session then, and the drain does not find its uplink yet.
        fixture.Metrics.OnCount = name => _ = name == "tunnel2.entry.sessions.active" && fixture.Drain.SetDrained(true);
        var agent = await fixture.ConnectAsync();
        await fixture.UntilAsync(() => agent.Goodbyes.Count > 0, "the agent hears of it");
        Assert.Equal([(GoAwayPhase.Notice, SessionEndReason.Shutdown)], agent.Goodbyes);
    });

    [Fact]
    public Task A_welcome_that_cannot_be_sent_ends_the_session() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = fixture.Dial();
        agent.Acceptors.FailSendAt = 1;
        EntrySession? session = null;
        fixture.Directory.Registered += registered => session = registered;
        await agent.SendAsync(AcceptorFixture.Hello().ToFrame());
        await agent.DoneAsync();
        Assert.Equal(SessionEndReason.TransportFailed, (await session!.Tunnel.Completion).Reason);
        Assert.Equal((0, 0, 0, 0), (fixture.Directory.Count, fixture.Joins.Count, fixture.Heartbeat.Count, fixture.Quota.Connections));
        Assert.Equal(
            (0L, 1L),
            (fixture.Metrics["tunnel2.entry.sessions.active"], fixture.Metrics["tunnel2.entry.session.duration:TransportFailed"]));
        Assert.Contains(fixture.Log.Of(2005), static line => line.EndsWith("The send was made to fail.", StringComparison.Ordinal));
    });

    [Fact]
    public Task The_end_of_an_older_registration_leaves_the_younger_alone() => AcceptorFixture.RunAsync(async fixture =>
    {
        var older = await fixture.ConnectAsync();
        var younger = await fixture.ConnectAsync();
        await older.DoneAsync();
        Assert.Equal((1, 1, younger.Welcome.Epoch), (fixture.Directory.Count, fixture.Joins.Count, (ulong)fixture.Session.Epoch));
        fixture.Session.Tunnel.TryOpenStream()!.Release();
    });

    [Fact]
    public Task Bytes_that_came_right_behind_the_HELLO_are_the_uplinks_first() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.SayAsync(Frame.Join(
            AcceptorFixture.Hello().ToFrame(), Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.HandOver)));
        await agent.WelcomedAsync();
        await fixture.UntilAsync(() => fixture.Session.IsLeaving, "the hand-over is known");
    });

    [Fact]
    public Task A_session_whose_right_is_withdrawn_leaves_its_name_free() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var agent = await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
            Assert.Equal(1, fixture.Revocation.Apply(new AgentTable([])));
            await fixture.UntilAsync(() => agent.Run.IsCompleted, "the agent's uplink has ended");
            await agent.DoneAsync();
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.session.duration:Revoked"]);
            await fixture.ConnectAsync(AcceptorFixture.Hello(instance: "b"));
        },
        "Agents:shop:TokenHash=" + Configuration.SettingsFixture.HashSetting("secret"));
}
