using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>A request with which nothing was done goes to another stream; one that may have been carried out never does.</summary>
public sealed class ForwarderRetryTests
{
    private static readonly ForwarderOptions _two = new() { Uplinks = 2 };

    [Fact]
    public Task A_request_that_was_refused_goes_to_the_other_uplink_and_the_visitor_does_not_notice() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST" });
            first.Refuse();
            var second = await fixture.AcceptAsync();
            Assert.NotEqual(first.Uplink, second.Uplink);
            Assert.Equal("POST web.localhost/", await second.ReadHeadAsync());
            second.Answer(200, "ok");
            Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
            Assert.Equal(
                [
                    "began", "stream opened", "moved after PeerReset", "stream ended", "stream opened", "answered", "stream ended",
                    "ended Completed",
                ],
                fixture.Moments.Of(asked.State));
            Assert.Equal(second.Uplink, asked.State.UplinkIndex);
        },
        _two);

    [Fact]
    public Task Without_another_uplink_the_refusal_is_the_visitors_answer() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Refuse();
        Assert.Equal(["error AgentRefused, again in 1 s"], await fixture.DoneAsync(asked));
        Assert.Equal(
            ["began", "stream opened", "moved after PeerReset", "stream ended", "failed AgentRefused with 503", "ended Error"],
            fixture.Moments.Of(asked.State));
        Assert.Equal(0, fixture.Arrived);
    });

    [Fact]
    public Task It_is_tried_on_four_streams_and_no_more() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            var last = -1;
            for (var i = 0; i < 4; i++)
            {
                var agent = await fixture.AcceptAsync();
                Assert.NotEqual(last, agent.Uplink);
                last = agent.Uplink;
                agent.Refuse();
            }

            Assert.Equal(["error AgentRefused, again in 1 s"], await fixture.DoneAsync(asked));
            await fixture.SettleAsync();
            Assert.Equal(0, fixture.Arrived);
            Assert.Equal(3, fixture.Moments.Of(asked.State).Count(static moment => moment == "moved after PeerReset"));
        },
        _two);

    [Theory]
    [InlineData(StreamResetReason.None)]
    [InlineData(StreamResetReason.Cancel)]
    [InlineData(StreamResetReason.BackendConnect)]
    [InlineData(StreamResetReason.BackendTimeout)]
    [InlineData(StreamResetReason.BackendProtocol)]
    [InlineData(StreamResetReason.Internal)]
    [InlineData(StreamResetReason.VisitorProtocol)]
    public Task Only_a_refusal_says_that_nothing_was_done(StreamResetReason reason) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync();
            agent.Reset(reason);
            Assert.Equal("ended Error", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(0, fixture.Arrived);
            Assert.DoesNotContain(fixture.Moments.Of(asked.State), static moment => moment.StartsWith("moved", StringComparison.Ordinal));
        },
        _two);

    [Fact]
    public Task A_refusal_behind_the_head_is_a_cut() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync();
            agent.Answer(200, end: false);
            await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
            agent.Refuse();
            Assert.Equal(["head 200", "flush", "cut"], await fixture.DoneAsync(asked));
            Assert.Equal(0, fixture.Arrived);
        },
        _two);

    [Fact]
    public Task A_short_body_that_the_first_agent_had_already_goes_whole_to_the_second() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
            await asked.Visitor.SendAsync("one,");
            Assert.Equal("one,", await first.ReadAsync(4));
            first.Refuse();
            var second = await fixture.AcceptAsync();
            await second.ReadHeadAsync();
            Assert.Equal("one,", await second.ReadAsync(4));
            await asked.Visitor.SendAsync("two", end: true);
            Assert.Equal(new AgentBody("two", null, true), await second.ReadToEndAsync());
            second.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(7, asked.State.BytesReceived);
        },
        _two);

    [Fact]
    public Task A_body_that_was_sent_whole_goes_whole_to_the_second() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
            await asked.Visitor.SendAsync("all of it", end: true);
            Assert.Equal(new AgentBody("all of it", null, true), await first.ReadToEndAsync());
            first.Refuse();
            var second = await fixture.AcceptAsync();
            await second.ReadHeadAsync();
            Assert.Equal(new AgentBody("all of it", null, true), await second.ReadToEndAsync());
            second.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        },
        _two);

    [Theory]
    [InlineData(KeptBody.Limit, true)]
    [InlineData(KeptBody.Limit + 1, false)]
    public Task A_body_is_kept_up_to_its_limit(int length, bool isTriedAgain) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var body = new string('b', length);
            var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
            await asked.Visitor.SendAsync(body[..100]);
            await first.ReadAsync(100);
            await asked.Visitor.SendAsync(body[100..]);
            await first.ReadAsync(length - 100);
            Assert.Equal(!isTriedAgain, asked.State.IsBodyTaken);
            first.Refuse();
            if (!isTriedAgain)
            {
                Assert.Equal(["error AgentRefused, again in 1 s"], await fixture.DoneAsync(asked));
                Assert.Equal(0, fixture.Arrived);
                return;
            }

            var second = await fixture.AcceptAsync();
            await second.ReadHeadAsync();
            Assert.Equal(body, await second.ReadAsync(length));
            second.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        },
        _two);

    [Fact]
    public Task A_body_that_had_not_begun_goes_to_the_second_from_the_visitor() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
            first.Refuse();
            var second = await fixture.AcceptAsync();
            await second.ReadHeadAsync();
            var body = new string('b', 50_000);
            await asked.Visitor.SendAsync(body, end: true);
            Assert.Equal(new AgentBody(body, null, true), await second.ReadToEndAsync());
            second.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(body.Length, asked.State.BytesReceived);
        },
        _two);

    [Fact]
    public Task A_body_too_large_to_keep_of_which_the_write_failed_is_still_in_the_visitors_pipe() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var body = new string('b', 60_000);
            var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
            await asked.Visitor.SendAsync(body, end: true);
            await fixture.SettleAsync();
            Assert.False(asked.State.IsBodyTaken);
            first.Refuse();
            var second = await fixture.AcceptAsync();
            await second.ReadHeadAsync();
            Assert.Equal(new AgentBody(body, null, true), await second.ReadToEndAsync());
            second.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        },
        _two with { Pair = new PairOptions { StreamWindow = 16 * 1024 } });

    [Fact]
    public Task A_visitor_that_was_asked_to_continue_is_not_asked_again() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true, Waits = true });
            first.Answer(100, end: false);
            await fixture.UntilAsync(() => asked.Visitor.Log.Count == 1, "the visitor may continue");
            await asked.Visitor.SendAsync("body", end: true);
            await first.ReadToEndAsync();
            first.Refuse();
            var second = await fixture.AcceptAsync();
            await second.ReadHeadAsync();
            Assert.Equal(new AgentBody("body", null, true), await second.ReadToEndAsync());
            second.Answer();
            Assert.Equal(["continue", "head 200", "complete"], await fixture.DoneAsync(asked));
        },
        _two);

    [Fact]
    public Task An_uplink_that_is_lost_before_anything_was_sent_costs_the_request_nothing() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            // The first request fills the connection, so that the second waits for its turn.
            fixture.Pairs[0].AgentTransport.Incoming.Stall();
            var first = fixture.Ask(new ScriptedVisitor { Fields = [("X-Long", new string('v', 5_000))] });
            var second = fixture.Ask(new ScriptedVisitor { Asks = "POST", Path = "/second" });
            await fixture.SettleAsync();
            Assert.Equal(2, fixture.Pairs[0].Entry.OpenStreams);
            fixture.AddUplink(fixture.Session);
            fixture.LoseUplink();
            Assert.Equal(["error UplinkLost"], await fixture.DoneAsync(first));
            var agent = await fixture.AcceptAsync();
            Assert.Equal((1, "POST web.localhost/second"), (agent.Uplink, await agent.ReadHeadAsync()));
            agent.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(second)).Outcome);
            Assert.Contains("moved after UplinkLost", fixture.Moments.Of(second.State));
            Assert.Equal(0, fixture.Arrived);
        },
        new ForwarderOptions { Pair = new PairOptions { Capacity = 1024 } });

    [Fact]
    public Task A_request_on_its_way_to_one_owner_is_not_given_to_another() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, first) = await fixture.BeginAsync();
        await fixture.Directory.UnregisterAsync("web", fixture.Epoch, isKept: false, CancellationToken.None);
        await fixture.ConnectAsync(owner: "somebody else");
        first.Refuse();
        Assert.Equal(["error AgentRefused, again in 1 s"], await fixture.DoneAsync(asked));
        Assert.Equal((0, 0L), (fixture.Arrived, fixture.Pairs[1].Entry.Streams.Table.Opened));
    });

    [Fact]
    public Task A_request_that_is_tried_twice_counts_once_for_its_limit() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(2, adjust: static session => session.RateLimit = new SessionRateLimit(new RateTier("t", 1, 1)));
            var (asked, first) = await fixture.BeginAsync();
            first.Refuse();
            var second = await fixture.AcceptAsync();
            second.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(0, fixture.Metrics["tunnel2.entry.rate_limited:t"]);
        },
        new ForwarderOptions { IsOnline = false });

    [Fact]
    public Task A_request_that_was_refused_while_ProxyEntry_stops_is_said_so() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        await fixture.DisconnectAsync(saysGoodbye: false);
        agent.Refuse();
        await fixture.UntilAsync(() => fixture.Lot.Count == 1, "the request waits");
        fixture.Lot.Close();
        Assert.Equal(["error Draining, again in 2 s"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_request_that_was_refused_by_an_agent_that_leaves_waits_for_its_successor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        await fixture.DisconnectAsync(saysGoodbye: true);
        agent.Refuse();
        await fixture.UntilAsync(() => fixture.Lot.Count == 1, "the request waits");
        await fixture.ConnectAsync();
        var successor = await fixture.AcceptAsync();
        Assert.Equal(1, successor.Uplink);
        await successor.ReadHeadAsync();
        successor.Answer(200, "ok");
        Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
    });
}
