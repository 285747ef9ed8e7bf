using System.Globalization;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>A response on its way to the visitor.</summary>
public sealed class ResponsePumpTests
{
    [Fact]
    public Task An_answer_that_came_whole_leaves_without_a_flush_of_its_own() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "abc");
        Assert.Equal(["head 200", "body 3", "complete"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_head_does_not_wait_for_its_body() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        await fixture.SettleAsync();
        Assert.Equal(["head 200", "flush"], asked.Visitor.Log);
        Assert.Equal(ForwardPhase.Body, asked.State.Phase);
        await agent.SendAsync("abc", end: true);
        Assert.Equal(["head 200", "flush", "body 3", "complete", "flush"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task Each_piece_leaves_as_it_comes_and_is_flushed_once() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "a", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 1, "the first piece is with the visitor");
        await agent.SendAsync("bc");
        await fixture.UntilAsync(() => asked.State.BytesSent == 3, "the second piece is with the visitor");
        await fixture.SettleAsync();
        Assert.Equal(["head 200", "body 1", "flush", "body 2", "flush"], asked.Visitor.Log);
        await agent.SendAsync("", end: true);
        Assert.Equal(["head 200", "body 1", "flush", "body 2", "flush", "complete"], await fixture.DoneAsync(asked));
        Assert.Equal("abc", asked.Visitor.Body);
    });

    [Theory]
    [InlineData(16 * 1024 - 1, "body 16383")]
    [InlineData(16 * 1024, "send 16384")]
    public Task A_large_piece_is_sent_from_where_it_is(int length, string how) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        await agent.SendAsync(new string('b', length));
        await fixture.UntilAsync(() => asked.State.BytesSent == length, "the piece is with the visitor");
        await fixture.SettleAsync();
        Assert.Equal(how, asked.Visitor.Log[2]);
        Assert.Equal(how[0] == 'b' ? 4 : 3, asked.Visitor.Log.Count);
        await agent.SendAsync("", end: true);
        await fixture.DoneAsync(asked);
    });

    [Fact]
    public Task Pieces_that_the_visitor_does_not_take_yet_are_gathered_up_to_their_limit() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        asked.Visitor.TakeNothing();
        await agent.SendAsync("1");
        await fixture.UntilAsync(() => asked.Visitor.IsWaitedFor, "the visitor is waited for");
        var log = asked.Visitor.Log.Count;
        for (var i = 0; i < 15; i++)
        {
            await agent.SendAsync(new string('b', 9_000));
            await fixture.SettleAsync();
        }

        Assert.Equal(log, asked.Visitor.Log.Count);
        asked.Visitor.TakeAll();
        await agent.SendAsync("", end: true);
        await fixture.DoneAsync(asked);
        Assert.Equal((1 + 15 * 9_000, 1 + 15 * 9_000), ((int)asked.State.BytesSent, asked.Visitor.Body.Length));
        var gathered = 0;
        foreach (var line in asked.Visitor.Log.Skip(log))
        {
            // A flush comes where 64 KiB are gathered, and no later than one piece after that.
            gathered = line == "flush" || line.StartsWith("send", StringComparison.Ordinal) ? 0
                : line.StartsWith("body", StringComparison.Ordinal) ? gathered + int.Parse(line[5..], CultureInfo.InvariantCulture)
                : gathered;
            Assert.InRange(gathered, 0, 64 * 1024 + 16 * 1024);
        }

        Assert.Equal(0, gathered);
    });

    [Fact]
    public Task A_visitor_that_takes_nothing_holds_the_agent_up() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync();
            agent.Answer(200, end: false);
            await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
            asked.Visitor.TakeNothing();
            var sending = agent.WriteAsync(new byte[100_000]).AsTask();
            await fixture.UntilAsync(() => asked.Visitor.IsWaitedFor, "the visitor is waited for");
            await fixture.SettleAsync();
            Assert.False(sending.IsCompleted);

            // Bytes that the visitor has not taken have given no credit back.
            Assert.InRange(asked.State.BytesSent, 1, 16 * 1024);
            asked.Visitor.TakeAll();
            await fixture.UntilAsync(() => sending.IsCompleted, "the agent could send all");
            await agent.SendAsync("", end: true);
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(100_000, asked.Visitor.Body.Length);
        },
        new ForwarderOptions { Pair = new PairOptions { StreamWindow = 16 * 1024 } });

    [Theory]
    [InlineData("HEAD", 200, "5")]
    [InlineData("GET", 204, "")]
    [InlineData("GET", 304, "5")]
    public Task An_answer_without_a_body_ends_with_its_head(string method, int status, string length) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = method });
            agent.Answer(status, fields: length.Length > 0 ? [("Content-Length", length)] : []);
            Assert.Equal([length.Length > 0 ? $"head {status} with length" : $"head {status}", "complete"], await fixture.DoneAsync(asked));
            Assert.Equal("ended Completed", fixture.Moments.Of(asked.State)[^1]);
        });

    [Theory]
    [InlineData("HEAD", 200)]
    [InlineData("GET", 204)]
    [InlineData("GET", 304)]
    public Task A_body_where_none_may_be_is_refused(string method, int status) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = method });
        agent.Answer(status, "body");
        Assert.Equal([$"head {status}", "error BackendProtocol"], await fixture.DoneAsync(asked));
        Assert.Empty(asked.Visitor.Body);
    });

    [Fact]
    public Task The_agent_hears_that_its_body_was_no_body() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "HEAD" });
        agent.Answer(200, "body", end: false);
        await fixture.DoneAsync(asked);
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.None), await agent.ResetByAsync());
    });

    [Theory]
    [InlineData("0", "")]
    [InlineData("5", "12345")]
    public Task A_body_of_its_declared_length_is_whole(string length, string body) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, body, fields: ("Content-Length", length));
        Assert.Equal("complete", (await fixture.DoneAsync(asked))[^1]);
        Assert.Equal("ended Completed", fixture.Moments.Of(asked.State)[^1]);
    });

    [Theory]
    [InlineData("1", "")]
    [InlineData("6", "12345")]
    public Task A_body_shorter_than_declared_never_looks_whole(string length, string body) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, body, fields: ("Content-Length", length));
        var log = await fixture.DoneAsync(asked);
        Assert.DoesNotContain("complete", log);
        Assert.Equal(body.Length > 0 ? "cut short" : "error BackendProtocol", log[^1]);
        Assert.Equal(ProxyError.BackendProtocol, asked.State.Error);
    });

    [Fact]
    public Task A_short_body_is_cut_also_when_trailers_end_it() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "123", end: false, fields: ("Content-Length", "5"));
        agent.SendTrailers("9");
        var log = await fixture.DoneAsync(asked);
        Assert.DoesNotContain("complete", log);
        Assert.Equal("cut short", log[^1]);
    });

    [Fact]
    public Task Bytes_beyond_the_declared_length_reach_no_service() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "12345", end: false, fields: ("Content-Length", "5"));
        await fixture.UntilAsync(() => asked.State.BytesSent == 5, "the body is with the visitor");
        await agent.SendAsync("6");
        var log = await fixture.DoneAsync(asked);
        Assert.Equal(("cut", "12345"), (log[^1], asked.Visitor.Body));
        Assert.Equal("ended Aborted", fixture.Moments.Of(asked.State)[^1]);
        Assert.Equal(StreamResetReason.BackendProtocol, (await agent.ResetByAsync()).Reason);
    });

    [Theory]
    [InlineData("x")]
    [InlineData("-1")]
    [InlineData("5, 6")]
    public Task A_length_that_is_none_is_refused_before_anything_is_kept(string length) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "12345", end: false, fields: ("Content-Length", length));
        Assert.Equal(["error BackendProtocol"], await fixture.DoneAsync(asked));
        Assert.Equal(
            ["began", "stream opened", "answered", "failed BackendProtocol with 502", "stream ended", "ended Error"],
            fixture.Moments.Of(asked.State));
        Assert.Equal(StreamResetReason.BackendProtocol, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_head_that_the_front_cannot_send_is_refused() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { TakesHead = false });
        agent.Answer(200, "x");
        Assert.Equal(["error BackendProtocol"], await fixture.DoneAsync(asked));
        Assert.Equal(502, asked.State.Status);
        Assert.Null(asked.State.Times.FirstByte);
    });

    [Fact]
    public Task Interim_answers_are_passed_on_at_once_and_in_order() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(103, end: false);
        await fixture.UntilAsync(() => asked.Visitor.Log.Count == 2, "the interim answer has left");
        Assert.Equal(["interim 103", "flush"], asked.Visitor.Log);
        agent.Answer(100, end: false);
        agent.Answer(200, "x");
        Assert.Equal(["interim 103", "flush", "interim 100", "flush", "head 200", "body 1", "complete"], await fixture.DoneAsync(asked));
        Assert.Equal(["began", "stream opened", "answered", "stream ended", "ended Completed"], fixture.Moments.Of(asked.State));
    });

    [Fact]
    public Task An_interim_answer_that_the_front_cannot_send_is_left_out() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { TakesInterim = false });
        agent.Answer(103, end: false);
        agent.Answer(200);
        Assert.Equal(["head 200", "complete"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task Another_interim_answer_than_100_lets_no_visitor_continue() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true, Waits = true });
        agent.Answer(102, end: false);
        await fixture.UntilAsync(() => asked.Visitor.Log.Count == 2, "the interim answer has left");
        await fixture.SettleAsync();
        Assert.Equal(["interim 102", "flush"], asked.Visitor.Log);
        agent.Answer(200);
        Assert.Equal(["interim 102", "flush", "head 200", "complete"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task An_agent_that_fails_behind_an_interim_answer_can_still_be_answered_for() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(103, end: false);
        agent.Reset(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse);
        Assert.Equal("error BackendClosed", (await fixture.DoneAsync(asked))[^1]);
    });

    [Theory]
    [InlineData("")]
    [InlineData("abc")]
    public Task Trailers_come_behind_the_body_and_before_the_end(string body) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, body, end: false);
        agent.SendTrailers("9");
        var log = await fixture.DoneAsync(asked);
        Assert.Equal(["trailer X-Sum: 9", "complete"], log.Where(static line => line is "trailer X-Sum: 9" or "complete"));
        Assert.Equal(body, asked.Visitor.Body);
        Assert.Equal("ended Completed", fixture.Moments.Of(asked.State)[^1]);
    });

    [Fact]
    public Task A_switch_of_protocols_without_a_request_for_it_is_refused() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(101, end: false, fields: ("Upgrade", "x"));
        Assert.Equal(["error BackendProtocol"], await fixture.DoneAsync(asked));
        Assert.Equal(
            ["began", "stream opened", "failed BackendProtocol with 502", "stream ended", "ended Error"], fixture.Moments.Of(asked.State));
        Assert.Equal(StreamResetReason.BackendProtocol, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_visitor_that_is_gone_when_a_piece_is_to_leave_ends_the_exchange() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        asked.Visitor.Abort();
        await agent.SendAsync("abc");
        Assert.Equal("ended VisitorAborted", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_visitor_that_is_gone_when_a_large_piece_is_to_leave_ends_the_exchange() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        asked.Visitor.Abort();
        await agent.SendAsync(new string('b', 16 * 1024), end: true);
        Assert.Equal("ended VisitorAborted", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.DoesNotContain("complete", asked.Visitor.Log);
    });
}
