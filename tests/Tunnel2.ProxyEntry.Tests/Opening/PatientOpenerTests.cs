using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Opening;

/// <summary>The way from a name to a stream: at once, after a wait, or not at all.</summary>
public sealed class PatientOpenerTests
{
    private const string Parks = "Timeouts:Park=5s";

    private static readonly TimeSpan _park = TimeSpan.FromSeconds(5);
    private static readonly ForwarderOptions _away = new()
    {
        IsOnline = false,
        Settings = [Parks],
    };

    [Fact]
    public Task A_session_that_is_there_gives_a_stream_at_once() => ForwarderFixture.RunAsync(fixture =>
    {
        var (visitor, request) = NewRequest();
        var opened = fixture.Opener.TryOpen(visitor, request);
        Assert.Equal((null, fixture.Session), (opened.Error, opened.Session));
        Assert.Same(fixture.Pairs[0].Entry.Streams, opened.Stream!.Uplink);
        Assert.Equal("/", visitor.Forwarded);
        opened.Stream.Release();
        return Task.CompletedTask;
    });

    [Fact]
    public Task What_the_name_was_found_in_is_not_forwarded() => ForwarderFixture.RunAsync(
        fixture =>
        {
            var (visitor, request) = NewRequest(new ScriptedVisitor { Host = "localhost", Path = "/session/web/a?b" });
            var opened = fixture.Opener.TryOpen(visitor, request);
            Assert.Equal((null, "/a?b"), (opened.Error, visitor.Forwarded));
            opened.Stream!.Release();
            return Task.CompletedTask;
        },
        new ForwarderOptions { Settings = ["TestMode=true"] });

    [Fact]
    public Task An_uplink_that_has_just_refused_is_left_out() => ForwarderFixture.RunAsync(
        fixture =>
        {
            for (var i = 0; i < 2; i++)
            {
                var (visitor, request) = NewRequest();
                var opened = fixture.Opener.TryOpen(visitor, request, except: fixture.Pairs[i].Entry.Streams);
                Assert.Same(fixture.Pairs[1 - i].Entry.Streams, opened.Stream!.Uplink);
                opened.Stream.Release();
            }

            return Task.CompletedTask;
        },
        new ForwarderOptions { Uplinks = 2 });

    [Fact]
    public Task A_session_with_all_its_streams_open_says_so() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync();
            var second = fixture.Ask();
            Assert.Equal(["error StreamLimit, again in 1 s"], await fixture.DoneAsync(second));
            Assert.Equal(["began", "failed StreamLimit with 503", "ended Error"], fixture.Moments.Of(second.State));
            agent.Answer();
            await fixture.DoneAsync(asked);
            agent.Release();
            await fixture.UntilQuietAsync();
            var (third, answers) = await fixture.BeginAsync();
            answers.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(third)).Outcome);
        },
        new ForwarderOptions { Pair = new PairOptions { MaxStreams = 1 } });

    [Fact]
    public Task A_session_whose_uplinks_take_no_streams_is_as_good_as_away() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            fixture.Pairs[0].Agent.SendGoAwayNotice(Protocol.Errors.SessionEndReason.Shutdown, "");
            await fixture.UntilAsync(() => !fixture.Pairs[0].Entry.IsOpenForStreams, "the uplink takes no streams");
            var (visitor, request) = NewRequest();
            Assert.Equal(new OpenResult(ProxyError.AgentOffline, fixture.Session, null), fixture.Opener.TryOpen(visitor, request));
        });

    [Fact]
    public Task A_session_that_has_had_its_share_refuses_and_says_what_is_left() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var limit = new SessionRateLimit(new RateTier("small", 1, 1));
            await fixture.ConnectAsync(adjust: session => session.RateLimit = limit);
            Assert.True(limit.TryTake());
            var (visitor, request) = NewRequest();
            var opened = fixture.Opener.TryOpen(visitor, request);
            Assert.Equal(new OpenResult(ProxyError.RateLimit, fixture.Session, null), opened);
            Assert.False(request.IsCounted);
            Assert.Equal(
                "RateLimit-Policy: \"tunnel\";q=1;w=1\r\nRateLimit: \"tunnel\";r=0;t=1\r\n",
                System.Text.Encoding.ASCII.GetString(visitor.Extras!.ResponseLines));
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.rate_limited:small"]);
            Assert.Equal(0, fixture.Pairs[0].Entry.Streams.Table.Opened);
        },
        new ForwarderOptions { IsOnline = false });

    [Fact]
    public Task A_request_is_counted_once_and_says_once_what_is_left() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(adjust: static session => session.RateLimit = new SessionRateLimit(new RateTier("small", 1, 2)));
            var (visitor, request) = NewRequest();
            var first = fixture.Opener.TryOpen(visitor, request);
            Assert.True(request.IsCounted);
            var said = visitor.Extras!.ResponseLines.ToArray();
            var second = fixture.Opener.TryOpen(visitor, request);
            Assert.Equal(said, visitor.Extras.ResponseLines.ToArray());
            Assert.NotNull(second.Stream);
            first.Stream!.Release();
            second.Stream.Release();
        },
        new ForwarderOptions { IsOnline = false });

    [Fact]
    public Task A_request_for_one_owner_finds_no_others_session() => ForwarderFixture.RunAsync(fixture =>
    {
        var (visitor, request) = NewRequest();
        request.Owner = AgentIdentity.OfToken("somebody else");
        Assert.Equal(new OpenResult(ProxyError.AgentOffline, null, null), fixture.Opener.TryOpen(visitor, request));
        request.Owner = fixture.Session.Owner;
        fixture.Opener.TryOpen(visitor, request).Stream!.Release();
        return Task.CompletedTask;
    });

    [Theory]
    [InlineData("web.localhost", "web")]
    [InlineData("WEB-e1.localhost:1", "web")]
    [InlineData("example.org", "example.org")]
    public Task A_request_without_a_session_has_its_name_or_its_host(string host, string name) => ForwarderFixture.RunAsync(fixture =>
    {
        Assert.Equal(name, fixture.Opener.NameOf(new ScriptedVisitor { Host = host }));
        return Task.CompletedTask;
    });

    [Fact]
    public Task A_request_waits_for_a_lost_agent_and_goes_to_it_when_it_is_back() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync();
            await fixture.DisconnectAsync(saysGoodbye: false);
            var asked = fixture.Ask();
            Assert.Equal((1, 1000L, 1L), (fixture.Lot.Count, fixture.Lot.Bytes, fixture.Metrics["tunnel2.entry.parked.active"]));
            fixture.Time.Advance(TimeSpan.FromSeconds(3));
            await fixture.SettleAsync();
            Assert.False(asked.Done.IsCompleted);
            await fixture.ConnectAsync();
            var agent = await fixture.AcceptAsync();
            agent.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(TimeSpan.FromSeconds(3), asked.State.Times.Wait);
            Assert.Equal((1L, 0L), (fixture.Metrics["tunnel2.entry.parked:returned"], fixture.Metrics["tunnel2.entry.parked.active"]));
            Assert.Equal(fixture.Session.Owner, asked.State.Owner);
        },
        _away);

    [Fact]
    public Task A_request_waits_as_long_as_it_may_and_no_longer() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync();
            await fixture.DisconnectAsync(saysGoodbye: false);
            var asked = fixture.Ask();
            fixture.Time.Advance(_park - TimeSpan.FromMilliseconds(1));
            await fixture.SettleAsync();
            Assert.Equal(1, fixture.Lot.Count);
            fixture.Time.Advance(ParkingLot.SweepPeriod);
            Assert.Equal(["error AgentOffline, again in 5 s"], await fixture.DoneAsync(asked));
            Assert.Equal(["began", "failed AgentOffline with 503", "ended Error"], fixture.Moments.Of(asked.State));
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.parked:timed_out"]);
        },
        _away);

    [Fact]
    public Task An_agent_that_said_goodbye_is_waited_for_from_its_goodbye_on() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync();
            await fixture.DisconnectAsync(saysGoodbye: true);
            fixture.Time.Advance(TimeSpan.FromSeconds(3));
            var asked = fixture.Ask();
            fixture.Time.Advance(TimeSpan.FromSeconds(1.9));
            await fixture.SettleAsync();
            Assert.Equal(1, fixture.Lot.Count);
            fixture.Time.Advance(TimeSpan.FromSeconds(0.2));
            Assert.Equal(["error AgentOffline, again in 5 s"], await fixture.DoneAsync(asked));
            var late = fixture.Ask();
            Assert.True(late.Done.IsCompleted);
            Assert.Equal((1L, 0L), (fixture.Metrics["tunnel2.entry.parked:timed_out"], fixture.Metrics["tunnel2.entry.parked:full"]));
        },
        _away);

    [Fact]
    public Task No_request_waits_where_waiting_is_off() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            Assert.Equal(["error AgentOffline, again in 5 s"], await fixture.DoneAsync(asked));
            Assert.Equal((0L, 0L), (fixture.Metrics["tunnel2.entry.parked:timed_out"], fixture.Metrics["tunnel2.entry.parked:full"]));
        },
        _away with { Settings = ["Timeouts:Park=off"] });

    [Fact]
    public Task A_visitor_that_leaves_while_it_waits_frees_its_place() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            Assert.Equal(1, fixture.Lot.Count);
            asked.Visitor.Leave();
            Assert.Equal((0, 0L), (fixture.Lot.Count, fixture.Lot.Bytes));
            Assert.Empty(await fixture.DoneAsync(asked));
            Assert.Equal(["began", "ended VisitorAborted"], fixture.Moments.Of(asked.State));
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.parked:visitor_left"]);
        },
        _away);

    [Fact]
    public Task A_stop_ends_every_wait() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            fixture.Lot.Close();
            Assert.Equal(["error Draining, again in 2 s"], await fixture.DoneAsync(asked));
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.parked:closed"]);
            var late = fixture.Ask();
            Assert.Equal(["error AgentOffline, again in 5 s"], await fixture.DoneAsync(late));
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.parked:full"]);
        },
        _away);

    [Theory]
    [InlineData(1, 10, 2)]
    [InlineData(10, 1, 2)]
    [InlineData(10, 10, 1)]
    public Task A_request_without_a_place_is_answered_at_once(int perName, int total, int megabytes) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var first = fixture.Ask(new ScriptedVisitor { BytesHeld = (1024 * 1024) - 999 });
            var second = fixture.Ask();
            Assert.Equal(["error AgentOffline, again in 5 s"], await fixture.DoneAsync(second));
            Assert.Equal((1, 1L), (fixture.Lot.Count, fixture.Metrics["tunnel2.entry.parked:full"]));
            first.Visitor.Leave();
            await fixture.DoneAsync(first);
        },
        _away with { Settings = [Parks, $"Parking:PerName={perName}", $"Parking:Total={total}", $"Parking:Megabytes={megabytes}"] });

    [Fact]
    public Task An_agent_that_came_between_the_look_and_the_wait_is_found() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (visitor, request) = NewRequest();
            var missed = fixture.Opener.TryOpen(visitor, request);
            Assert.Equal(ProxyError.AgentOffline, missed.Error);
            await fixture.ConnectAsync();
            var opened = await fixture.Opener.WaitAsync(visitor, request, missed);
            Assert.Null(opened.Error);
            Assert.Equal((0, 0L), (fixture.Lot.Count, fixture.Metrics["tunnel2.entry.parked:returned"]));
            opened.Stream!.Release();
        },
        _away);

    [Fact]
    public Task A_request_waits_for_the_owner_of_the_name_and_not_for_who_comes() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(owner: "first");
            await fixture.Directory.UnregisterAsync("web", fixture.Epoch, isKept: false, CancellationToken.None);
            var asked = fixture.Ask();
            Assert.Equal(AgentIdentity.OfToken("first"), asked.State.Owner);
            await fixture.ConnectAsync(owner: "other");
            await fixture.SettleAsync();
            Assert.Equal((1, 0), (fixture.Lot.Count, fixture.Arrived));
            await fixture.Directory.UnregisterAsync("web", fixture.Epoch, isKept: false, CancellationToken.None);
            await fixture.ConnectAsync(owner: "first");
            var agent = await fixture.AcceptAsync();
            Assert.Equal(2, agent.Uplink);
            agent.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        },
        _away);

    [Fact]
    public Task A_request_that_was_on_its_way_to_one_owner_does_not_wait_for_another() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(owner: "other");
            await fixture.DisconnectAsync(saysGoodbye: false);
            var (visitor, request) = NewRequest();
            request.Owner = AgentIdentity.OfToken("first");
            var missed = fixture.Opener.TryOpen(visitor, request);
            var waiting = fixture.Opener.WaitAsync(visitor, request, missed);
            Assert.True(waiting.IsCompleted);
            Assert.Equal(missed, await waiting);
            Assert.Equal(AgentIdentity.OfToken("first"), request.Owner);
        },
        _away);

    [Fact]
    public Task A_session_that_came_back_and_is_gone_again_is_waited_for_again_until_the_same_end() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync();
            await fixture.DisconnectAsync(saysGoodbye: false);
            var asked = fixture.Ask();
            fixture.Time.Advance(TimeSpan.FromSeconds(3));

            // Without uplinks: it has a registration and takes no stream.
            await fixture.ConnectAsync(uplinks: 0);
            await fixture.UntilAsync(
                () => fixture.Metrics["tunnel2.entry.parked:returned"] == 1 && fixture.Lot.Count == 1, "it waits again");
            fixture.Time.Advance(TimeSpan.FromSeconds(1.9));
            await fixture.SettleAsync();
            Assert.False(asked.Done.IsCompleted);
            fixture.Time.Advance(TimeSpan.FromSeconds(0.2));
            Assert.Equal(["error AgentOffline, again in 5 s"], await fixture.DoneAsync(asked));
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.parked:timed_out"]);
        },
        _away);

    [Fact]
    public Task Who_finds_the_session_full_after_the_wait_learns_that() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var first = fixture.Ask();
            var second = fixture.Ask();
            Assert.Equal(2, fixture.Lot.Count);
            await fixture.ConnectAsync();
            var agent = await fixture.AcceptAsync();
            await fixture.UntilAsync(() => first.Done.IsCompleted || second.Done.IsCompleted, "one of them is answered");
            var (served, refused) = first.Done.IsCompleted ? (second, first) : (first, second);
            Assert.Equal(["error StreamLimit, again in 1 s"], await fixture.DoneAsync(refused));
            agent.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(served)).Outcome);
        },
        _away with { Pair = new PairOptions { MaxStreams = 1 } });

    private static (ScriptedVisitor Visitor, ForwardedRequest Request) NewRequest(ScriptedVisitor? visitor = null)
    {
        var request = new ForwardedRequest();
        request.Begin(TimeProvider.System);
        return (visitor ?? new ScriptedVisitor(), request);
    }
}
