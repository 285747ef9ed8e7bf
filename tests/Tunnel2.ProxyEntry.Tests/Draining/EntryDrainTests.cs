using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Draining;

/// <summary>ProxyEntry's way out: each step in its turn, and none waits for ever.</summary>
public sealed class EntryDrainTests
{
    private static readonly TimeSpan _hair = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan _lastCall = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan _grace = TimeSpan.FromSeconds(20);

    private static readonly string[] _settings = ["Timeouts:Drain=20s"];

    [Fact]
    public Task With_no_agent_there_it_stops_without_waiting() => RunAsync(async fixture =>
    {
        fixture.Begin();
        await fixture.DoneAsync();
        Assert.Equal(
            ["nobody new comes in", "visitors are asked to leave", "administrators are asked to leave", "Kestrel is asked to stop"],
            fixture.Steps);
        Assert.Equal((ReadinessPhase.Draining, true), (fixture.Readiness.Phase, fixture.Acceptor.Drain.IsDraining));
        Assert.Equal([2204, 2205], fixture.Log.Lines.Select(static line => line.Id));
        Assert.Equal("Draining: 0 sessions and 0 streams are left", fixture.Log.Lines[0].Line);
    });

    [Fact]
    public Task A_stop_that_is_to_be_known_first_is_said_at_once_and_continues_later() => RunAsync(
        async fixture =>
        {
            var agent = await fixture.Acceptor.ConnectAsync();
            var session = fixture.Acceptor.Session;
            var stream = session.Tunnel.TryOpenStream()!;
            fixture.Begin();
            Assert.Equal((ReadinessPhase.Draining, true), (fixture.Readiness.Phase, fixture.Acceptor.Drain.IsDraining));
            Assert.Equal("Draining: 1 sessions and 1 streams are left", fixture.Log.Lines[0].Line);
            await fixture.Acceptor.UntilAsync(() => agent.Goodbyes.Count == 1, "the agent hears of it");
            Assert.Equal((GoAwayPhase.Notice, SessionEndReason.Shutdown), agent.Goodbyes[0]);
            stream.Release();

            // Requests of visitors that are here already still go to the agent.
            session.Tunnel.TryOpenStream()!.Release();
            await fixture.AdvanceAsync(TimeSpan.FromSeconds(3) - _hair);
            Assert.Empty(fixture.Steps);
            await fixture.AdvanceAsync(_hair);
            await fixture.UntilAsync("nobody new comes in");
            await fixture.DoneAsync();
        },
        [.. _settings, "Timeouts:DrainDelay=3s"]);

    [Fact]
    public Task A_node_of_a_cluster_waits_until_its_agents_are_elsewhere() => RunAsync(async fixture =>
    {
        fixture.Others.Exist = true;
        await fixture.Acceptor.ConnectAsync();
        var session = fixture.Acceptor.Session;
        fixture.Begin();
        await fixture.AdvanceAsync(TimeSpan.FromSeconds(3));
        Assert.Empty(fixture.Steps);
        await fixture.Acceptor.Directory.UnregisterAsync(session.Name, session.Epoch, isKept: false, CancellationToken.None);
        await fixture.AdvanceAsync(TimeSpan.FromMilliseconds(50));
        await fixture.UntilAsync("nobody new comes in");
        session.Tunnel.End(SessionEndReason.Shutdown, "");
        await fixture.DoneAsync();
    });

    [Fact]
    public Task A_node_of_a_cluster_does_not_wait_for_ever_for_agents_that_stay() => RunAsync(async fixture =>
    {
        fixture.Others.Exist = true;
        await fixture.Acceptor.ConnectAsync();
        fixture.Begin();
        await fixture.AdvanceAsync(TimeSpan.FromSeconds(4.9));
        Assert.Empty(fixture.Steps);
        await fixture.AdvanceAsync(TimeSpan.FromSeconds(0.1));
        await fixture.UntilAsync("nobody new comes in");
        await fixture.DoneAsync();
    });

    [Fact]
    public Task Visitors_have_a_moment_in_which_they_can_still_come() => RunAsync(async fixture =>
    {
        var visitor = fixture.Connect(fixture.Connections.Visitors, "the visitor");
        fixture.Begin();
        await fixture.AdvanceAsync(_lastCall - _hair);
        Assert.Empty(fixture.Steps);
        Assert.False(fixture.Running.IsCompleted);
        await fixture.AdvanceAsync(_hair);
        await fixture.UntilAsync("visitors are asked to leave");
        Assert.Equal(["nobody new comes in", "visitors are asked to leave"], fixture.Steps);
        Assert.False(fixture.Running.IsCompleted);
        fixture.Connections.Visitors.Ended(visitor);
        await fixture.DoneAsync();
        Assert.DoesNotContain("the visitor is cut", fixture.Steps);
        Assert.Empty(fixture.Log.Of(2209));
    });

    [Fact]
    public Task A_last_visitor_that_leaves_by_itself_is_not_waited_for_longer() => RunAsync(async fixture =>
    {
        var visitor = fixture.Connect(fixture.Connections.Visitors, "the visitor");
        fixture.Begin();
        await fixture.AdvanceAsync(TimeSpan.FromMilliseconds(100));
        fixture.Connections.Visitors.Ended(visitor);
        await fixture.DoneAsync();
        Assert.Equal(TimeSpan.FromMilliseconds(100), fixture.Acceptor.Time.Elapsed);
    });

    [Fact]
    public Task A_visitor_that_does_not_finish_is_cut_when_its_time_is_over() => RunAsync(async fixture =>
    {
        var visitor = fixture.Connect(fixture.Connections.Visitors, "the visitor");
        fixture.Begin();
        await fixture.AdvanceAsync(_lastCall);
        await fixture.UntilWaitingAsync("visitors are asked to leave");
        await fixture.AdvanceAsync(_grace - _hair);
        Assert.DoesNotContain("the visitor is cut", fixture.Steps);
        await fixture.AdvanceAsync(_hair);
        await fixture.UntilAsync("the visitor is cut");
        Assert.Contains("1 connections", Assert.Single(fixture.Log.Of(2209)), StringComparison.Ordinal);
        Assert.DoesNotContain("Kestrel is asked to stop", fixture.Steps);
        fixture.Connections.Visitors.Ended(visitor);
        await fixture.DoneAsync();
    });

    [Fact]
    public Task A_visitor_that_does_not_finish_is_cut_at_once_when_the_stop_is_in_a_hurry() => RunAsync(
        async fixture =>
        {
            using var hurry = new CancellationTokenSource();
            var visitor = fixture.Connect(fixture.Connections.Visitors, "the visitor");
            fixture.Begin(hurry.Token);
            await fixture.UntilWaitingAsync();
            Assert.Empty(fixture.Steps);
            await hurry.CancelAsync();
            await fixture.UntilAsync("the visitor is cut");
            Assert.Equal(["nobody new comes in", "visitors are asked to leave", "the visitor is cut"], fixture.Steps);
            fixture.Connections.Visitors.Ended(visitor);
            await fixture.DoneAsync();
            Assert.Equal(TimeSpan.Zero, fixture.Acceptor.Time.Elapsed);
        },
        [.. _settings, "Timeouts:DrainDelay=3s"]);

    [Fact]
    public Task A_visitor_whose_cut_is_not_noticed_holds_nothing_up_for_ever() => RunAsync(async fixture =>
    {
        fixture.Connect(fixture.Connections.Visitors, "the visitor");
        fixture.Begin();
        await fixture.AdvanceAsync(_lastCall);
        await fixture.UntilWaitingAsync("visitors are asked to leave");
        await fixture.AdvanceAsync(_grace);
        await fixture.UntilWaitingAsync("the visitor is cut");
        await fixture.AdvanceAsync(TimeSpan.FromSeconds(2) - _hair);
        Assert.DoesNotContain("Kestrel is asked to stop", fixture.Steps);
        await fixture.AdvanceAsync(_hair);
        await fixture.DoneAsync();
    });

    [Fact]
    public Task Requests_that_wait_for_an_agent_wait_until_no_new_agent_comes_in() => RunAsync(async fixture =>
    {
        var visitor = fixture.Connect(fixture.Connections.Visitors, "the visitor");
        var place = fixture.Lot.TryEnter("web", null, default, long.MaxValue, 1)!;
        var waiting = place.WaitAsync(CancellationToken.None).AsTask();
        fixture.Begin();
        await fixture.AdvanceAsync(_lastCall - _hair);
        Assert.False(waiting.IsCompleted);
        await fixture.AdvanceAsync(_hair);
        await fixture.Acceptor.UntilAsync(() => waiting.IsCompleted, "the request waits no longer");
        Assert.Equal(ParkOutcome.Closed, await waiting);
        Assert.Contains("nobody new comes in", fixture.Steps);
        fixture.Connections.Visitors.Ended(visitor);
        await fixture.DoneAsync();
    });

    [Fact]
    public Task Sessions_serve_until_the_last_visitor_has_left() => RunAsync(async fixture =>
    {
        var agent = await fixture.Acceptor.ConnectAsync();
        var session = fixture.Acceptor.Session;
        var visitor = fixture.Connect(fixture.Connections.Visitors, "the visitor");
        fixture.Begin();
        Assert.False(session.IsLeaving);
        await fixture.AdvanceAsync(_lastCall);
        await fixture.UntilAsync("visitors are asked to leave");

        // What has no end of its own gets one, and all else continues.
        Assert.True(session.IsLeaving);
        session.Tunnel.TryOpenStream()!.Release();
        Assert.False(session.Tunnel.HasEnded);
        fixture.Connections.Visitors.Ended(visitor);
        await fixture.Acceptor.UntilAsync(() => agent.Run.IsCompleted, "the agent's uplink has ended");
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.Shutdown), agent.Goodbyes[^1]);
        await fixture.DoneAsync();
        Assert.Equal(SessionEndReason.Shutdown, (await session.Tunnel.Completion).Reason);
        await agent.DoneAsync();
    });

    [Fact]
    public Task A_session_that_does_not_end_holds_nothing_up_for_ever() => RunAsync(async fixture =>
    {
        // Its transport takes nothing more: the last words find no end before their time is over.
        var agent = fixture.Acceptor.Dial();
        await agent.SendAsync(AcceptorFixture.Hello().ToFrame());
        await agent.ReadAnswerAsync();
        fixture.Begin();
        await fixture.UntilWaitingAsync(timers: 2);
        Assert.DoesNotContain("Kestrel is asked to stop", fixture.Steps);
        await fixture.AdvanceAsync(TimeSpan.FromSeconds(2));
        await fixture.DoneAsync();
    });

    [Fact]
    public Task Administrators_are_served_to_the_end_and_have_a_moment_to_leave() => RunAsync(async fixture =>
    {
        var visitor = fixture.Connect(fixture.Connections.Visitors, "the visitor");
        fixture.Connect(fixture.Connections.Admin, "the administrator");
        fixture.Begin();
        await fixture.AdvanceAsync(_lastCall);
        await fixture.UntilAsync("visitors are asked to leave");
        Assert.DoesNotContain("administrators are asked to leave", fixture.Steps);
        fixture.Connections.Visitors.Ended(visitor);
        await fixture.UntilWaitingAsync("administrators are asked to leave");
        await fixture.AdvanceAsync(TimeSpan.FromMilliseconds(499));
        Assert.DoesNotContain("the administrator is cut", fixture.Steps);
        await fixture.AdvanceAsync(_hair);
        await fixture.DoneAsync();
        Assert.Equal(["administrators are asked to leave", "the administrator is cut", "Kestrel is asked to stop"], fixture.Steps.Skip(2));
    });

    [Fact]
    public Task Kestrel_is_waited_for_two_seconds() => AcceptorFixture.RunAsync(
        async acceptor =>
        {
            using var fixture = new DrainFixture(acceptor) { ServerHangs = true };
            fixture.Begin();
            await fixture.UntilWaitingAsync("Kestrel is asked to stop");
            await fixture.AdvanceAsync(TimeSpan.FromSeconds(2) - _hair);
            Assert.False(fixture.Running.IsCompleted);
            Assert.DoesNotContain("Kestrel is not waited for", fixture.Steps);
            await fixture.AdvanceAsync(_hair);
            await fixture.DoneAsync();
            Assert.Contains("Kestrel is not waited for", fixture.Steps);
        },
        _settings);

    private static Task RunAsync(Func<DrainFixture, Task> body, string[]? settings = null) => AcceptorFixture.RunAsync(
        async acceptor =>
        {
            using var fixture = new DrainFixture(acceptor);
            await body(fixture);
        },
        settings ?? _settings);
}
