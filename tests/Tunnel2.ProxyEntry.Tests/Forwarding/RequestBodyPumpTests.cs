using Microsoft.AspNetCore.Http;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>A visitor's body on its way into the tunnel.</summary>
public sealed class RequestBodyPumpTests
{
    [Fact]
    public Task A_body_arrives_piece_by_piece_and_its_end_is_said_once() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        Assert.Equal(ForwardPhase.Upload, asked.State.Phase);
        await asked.Visitor.SendAsync("one");
        Assert.Equal("one", await agent.ReadAsync(3));
        await asked.Visitor.SendAsync("two");
        Assert.Equal("two", await agent.ReadAsync(3));
        Assert.Equal(ForwardPhase.Upload, asked.State.Phase);
        asked.Visitor.EndBody();
        Assert.Equal(new AgentBody("", null, true), await agent.ReadToEndAsync());
        Assert.Equal(ForwardPhase.Head, asked.State.Phase);
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(6, asked.State.BytesReceived);
    });

    [Fact]
    public Task An_empty_body_is_an_end() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        asked.Visitor.EndBody();
        Assert.Equal(new AgentBody("", null, true), await agent.ReadToEndAsync());
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_body_of_many_segments_arrives_in_order_and_ends_with_the_last() => ForwarderFixture.RunAsync(async fixture =>
    {
        var visitor = Post();
        var body = string.Concat(Enumerable.Range(0, 10_000).Select(static i => $"{i},"));
        await visitor.SendAsync(body, end: true);
        var (asked, agent) = await fixture.BeginAsync(visitor);
        Assert.Equal(new AgentBody(body, null, true), await agent.ReadToEndAsync());
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(body.Length, asked.State.BytesReceived);
    });

    [Fact]
    public Task What_the_agent_has_no_credit_for_stays_with_the_visitor() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync(Post(unread: 8 * 1024));
            var sending = new List<Task>();
            for (var i = 0; i < 10; i++)
            {
                sending.Add(asked.Visitor.SendAsync(new string((char)('0' + i), 4 * 1024)));
                await fixture.SettleAsync();
                if (!sending[^1].IsCompleted)
                {
                    break;
                }
            }

            // A window of 16 KiB in the tunnel, and what waits unread before the visitor is held up.
            Assert.InRange(sending.Count, 5, 7);
            Assert.True(asked.State.BytesReceived <= 16 * 1024);
            await agent.ReadAsync(4 * sending.Count * 1024);
            await fixture.UntilAsync(() => sending[^1].IsCompleted, "the visitor may send again");
            asked.Visitor.EndBody();
            Assert.True((await agent.ReadToEndAsync()).IsWhole);
            agent.Answer();
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        },
        new ForwarderOptions { Pair = new PairOptions { StreamWindow = 16 * 1024 } });

    [Fact]
    public Task Trailers_come_behind_the_body() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(trailers: [("X-Sum", "9"), ("X-More", "1")]));
        await asked.Visitor.SendAsync("body", end: true);
        Assert.Equal(new AgentBody("body", "X-Sum: 9|X-More: 1", true), await agent.ReadToEndAsync());
        Assert.Equal(ForwardPhase.Head, asked.State.Phase);
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task Trailers_that_break_a_rule_make_a_body_that_is_never_whole() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(trailers: [("X-Sum", "9")], hasBadTrailers: true));
        await asked.Visitor.SendAsync("body", end: true);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(StreamResetReason.VisitorProtocol, (await agent.ResetByAsync()).Reason);
        Assert.Equal(["error BadRequest"], await fixture.DoneAsync(asked));
    });

    [Theory]
    [InlineData(200, true)]
    [InlineData(201, false)]
    public Task Trailers_have_the_limit_of_every_block(int count, bool isWhole) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(trailers: [.. Enumerable.Range(0, count).Select(static i => ($"X-{i}", "1"))]));
        await asked.Visitor.SendAsync("body", end: true);
        Assert.Equal(isWhole, (await agent.ReadToEndAsync()).IsWhole);
        if (isWhole)
        {
            agent.Answer();
        }

        Assert.Equal(isWhole ? ["head 200", "complete"] : ["error BadRequest"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task Trailers_that_no_block_can_hold_make_a_body_that_is_never_whole() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(trailers: [("X-Long", new string('v', 66_000))]));
        await asked.Visitor.SendAsync("body", end: true);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(["error BadRequest"], await fixture.DoneAsync(asked));
    });

    [Theory]
    [InlineData(StatusCodes.Status400BadRequest, "error BadRequest")]
    [InlineData(StatusCodes.Status413PayloadTooLarge, "error RequestBodyTooLarge")]
    [InlineData(StatusCodes.Status408RequestTimeout, "error BadRequest")]
    public Task A_body_whose_framing_breaks_is_the_visitors_fault(int status, string answer) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        await asked.Visitor.SendAsync("half");
        await agent.ReadAsync(4);
        asked.Visitor.EndBody(new BadHttpRequestException("no chunk", status));
        Assert.Equal([answer], await fixture.DoneAsync(asked));
        Assert.Equal("ended Error", fixture.Moments.Of(asked.State)[^1]);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(StreamResetReason.VisitorProtocol, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_broken_body_that_cannot_be_answered_cuts_the_visitor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(canBeAnswered: false));
        asked.Visitor.EndBody(new BadHttpRequestException("no chunk", 400));
        Assert.Equal(["abort"], await fixture.DoneAsync(asked));
        Assert.Equal("ended VisitorAborted", fixture.Moments.Of(asked.State)[^1]);
        await agent.ReadToEndAsync();
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_body_that_breaks_with_its_connection_cuts_the_visitor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        asked.Visitor.EndBody(new IOException("gone"));
        Assert.Equal(["abort"], await fixture.DoneAsync(asked));
        Assert.Equal("ended VisitorAborted", fixture.Moments.Of(asked.State)[^1]);
        await agent.ReadToEndAsync();
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_broken_body_of_a_visitor_that_left_is_no_mistake_of_its() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        asked.Visitor.FailRead(new BadHttpRequestException("no chunk", 400));
        asked.Visitor.Leave();
        Assert.Equal("ended VisitorAborted", (await fixture.EndOfAsync(asked)).Outcome);
        await agent.ReadToEndAsync();
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task An_answer_that_comes_before_the_end_of_the_body_ends_it() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        await asked.Visitor.SendAsync("half");
        await agent.ReadAsync(4);
        agent.Answer(413, "no");
        Assert.Equal(["head 413", "body 2", "complete"], await fixture.DoneAsync(asked));
        Assert.Equal("ended Completed", fixture.Moments.Of(asked.State)[^1]);
        Assert.Equal(1, asked.Visitor.StopsOfReading);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal((StreamResetReason.None, StreamResetDetail.None), await agent.ResetByAsync());
    });

    [Fact]
    public Task A_body_that_ends_while_its_answer_comes_is_whole() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        agent.Answer(200, "a", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 1, "the answer has begun");
        await asked.Visitor.SendAsync("body", end: true);
        Assert.Equal(new AgentBody("body", null, true), await agent.ReadToEndAsync());
        Assert.Equal(ForwardPhase.Body, asked.State.Phase);
        await agent.SendAsync("b", end: true);
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(0, asked.Visitor.StopsOfReading);
    });

    [Fact]
    public Task A_body_that_comes_behind_the_head_of_its_answer_is_not_kept() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.State.Status == 200, "the answer has begun");
        await asked.Visitor.SendAsync("body");
        await agent.ReadAsync(4);
        await fixture.UntilAsync(() => asked.State.IsBodyTaken, "the body is on its way");
        Assert.Equal(0, asked.State.Kept.Length);
        await agent.SendAsync("", end: true);
        await fixture.DoneAsync(asked);
    });

    [Fact]
    public Task A_read_that_was_cancelled_for_an_earlier_stream_is_passed_over() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post());
        asked.Visitor.CancelRead();
        await asked.Visitor.SendAsync("body", end: true);
        Assert.Equal(new AgentBody("body", null, true), await agent.ReadToEndAsync());
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_visitor_that_waits_for_a_100_gets_it_from_the_backend() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(waits: true));
        await fixture.SettleAsync();
        Assert.Empty(asked.Visitor.Log);
        agent.Answer(100, end: false);
        await fixture.UntilAsync(() => asked.State.HasContinued, "the visitor may continue");
        await asked.Visitor.SendAsync("body", end: true);
        Assert.Equal(new AgentBody("body", null, true), await agent.ReadToEndAsync());
        agent.Answer();
        Assert.Equal(["continue", "head 200", "complete"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_visitor_that_waits_for_a_100_gets_it_after_a_second_of_silence() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(waits: true));
        fixture.Time.Advance(TimeSpan.FromMilliseconds(999));
        await fixture.SettleAsync();
        Assert.Empty(asked.Visitor.Log);
        fixture.Time.Advance(TimeSpan.FromMilliseconds(1));
        await fixture.UntilAsync(() => asked.Visitor.Log.Count > 0, "the visitor may continue");
        await asked.Visitor.SendAsync("body", end: true);
        Assert.True((await agent.ReadToEndAsync()).IsWhole);
        agent.Answer();
        Assert.Equal(["continue", "head 200", "complete"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_visitor_that_waits_and_gets_its_answer_sends_nothing() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(waits: true));
        agent.Answer(417, "no");
        Assert.Equal(["head 417", "body 2", "complete"], await fixture.DoneAsync(asked));
        Assert.Equal("ended Completed", fixture.Moments.Of(asked.State)[^1]);
        Assert.False(asked.State.HasContinued);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
    });

    [Fact]
    public Task A_visitor_that_waits_is_not_asked_to_continue_after_its_answer_has_begun() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(waits: true));
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        fixture.Time.Advance(TimeSpan.FromSeconds(2));
        await fixture.SettleAsync();
        await agent.SendAsync("x", end: true);
        Assert.Equal(["head 200", "flush", "body 1", "complete", "flush"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_visitor_that_waits_gets_an_error_of_its_agent() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(waits: true));
        agent.Reset(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused);
        Assert.Equal(["error BackendRefused"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_visitor_that_waits_and_leaves_ends_its_request() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(Post(waits: true));
        asked.Visitor.Leave();
        Assert.Equal("ended VisitorAborted", (await fixture.EndOfAsync(asked)).Outcome);
        await agent.ReadToEndAsync();
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    private static ScriptedVisitor Post(
        int unread = 64 * 1024, bool waits = false, bool canBeAnswered = true, (string, string)[]? trailers = null,
        bool hasBadTrailers = false) =>
        new(unread)
        {
            Asks = "POST",
            Sends = true,
            Waits = waits,
            CanBeAnswered = canBeAnswered,
            Trailers = trailers,
            HasBadTrailers = hasBadTrailers,
        };
}
