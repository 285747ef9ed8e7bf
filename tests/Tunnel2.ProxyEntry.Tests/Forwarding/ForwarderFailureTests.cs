using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>A request that fails: at which leg, what the visitor gets, what the agent hears.</summary>
public sealed class ForwarderFailureTests
{
    [Theory]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused, "error BackendRefused", 502)]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.ConnectTimeout, "error BackendConnectTimeout", 504)]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.TooManyConnections, "error BackendConnectionLimit, again in 1 s", 503)]
    [InlineData(StreamResetReason.BackendTimeout, StreamResetDetail.None, "error BackendTimeout", 504)]
    [InlineData(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse, "error BackendClosed", 502)]
    [InlineData(StreamResetReason.Internal, StreamResetDetail.None, "error AgentFailed", 502)]
    [InlineData(StreamResetReason.Cancel, StreamResetDetail.None, "error AgentFailed", 502)]
    public Task An_agent_that_fails_before_its_head_says_which_leg_it_was(
        StreamResetReason reason, StreamResetDetail detail, string answer, int status) =>
        ForwarderFixture.RunAsync(async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync();
            agent.Reset(reason, detail);
            Assert.Equal([answer], await fixture.DoneAsync(asked));
            Assert.Equal(
                ["began", "stream opened", $"failed {asked.State.Error} with {status}", "stream ended", "ended Error"],
                fixture.Moments.Of(asked.State));
            Assert.Equal(status, asked.State.Status);
            var info = ProxyErrorCatalog.Get(asked.State.Error!.Value);
            Assert.Equal([$"Request R1 for web failed at the {info.LegName}: {info.Code}"], fixture.Log.Of(2100));
        });

    [Fact]
    public Task An_agent_that_fails_behind_its_head_leaves_an_answer_that_is_cut() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        agent.Reset(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody);
        Assert.Equal(["head 200", "flush", "cut"], await fixture.DoneAsync(asked));
        Assert.Equal(
            ["began", "stream opened", "answered", "failed BackendClosed within the answer", "stream ended", "ended Aborted"],
            fixture.Moments.Of(asked.State));
        Assert.Equal(200, asked.State.Status);
        Assert.Equal(["Response of request R1 for web aborted at the backend after 0 bytes: backend-closed"], fixture.Log.Of(2103));
    });

    [Theory]
    [InlineData("", "cut")]
    [InlineData("9", "cut short")]
    [InlineData("3", "cut")]
    public Task An_agent_that_fails_within_its_body_leaves_no_end(string length, string cut) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "abc", end: false, fields: length.Length > 0 ? [("Content-Length", length)] : []);
        await fixture.UntilAsync(() => asked.State.BytesSent == 3, "the first bytes are with the visitor");
        agent.Reset(StreamResetReason.BackendTimeout);
        Assert.Equal([length.Length > 0 ? "head 200 with length" : "head 200", "body 3", "flush", cut], await fixture.DoneAsync(asked));
        Assert.Equal("ended Aborted", fixture.Moments.Of(asked.State)[^1]);
        Assert.Contains("after 3 bytes: backend-timeout", Assert.Single(fixture.Log.Of(2103)), StringComparison.Ordinal);
    });

    [Fact]
    public Task A_head_that_has_not_left_can_still_become_an_error() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "more than was said", fields: [("Content-Length", "4")]);
        Assert.Equal(["head 200 with length", "error BackendProtocol"], await fixture.DoneAsync(asked));
        Assert.Equal("ended Error", fixture.Moments.Of(asked.State)[^1]);
        Assert.Equal(502, asked.State.Status);
    });

    [Fact]
    public Task An_agent_that_fails_within_the_requests_body_ends_that_too() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
        await asked.Visitor.SendAsync("half");
        Assert.Equal("half", await agent.ReadAsync(4));
        agent.Reset(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse);
        Assert.Equal(["error BackendClosed"], await fixture.DoneAsync(asked));
        Assert.True(asked.Visitor.StopsOfReading > 0);
    });

    [Fact]
    public Task An_uplink_that_is_lost_while_the_head_is_awaited_fails_the_request() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, _) = await fixture.BeginAsync();
            fixture.LoseUplink();
            Assert.Equal(["error UplinkLost"], await fixture.DoneAsync(asked));
            Assert.Equal(
                ["began", "stream opened", "failed UplinkLost with 502", "stream ended", "ended Error"], fixture.Moments.Of(asked.State));
            Assert.Equal(0, fixture.Arrived);
        },
        new ForwarderOptions { Uplinks = 2 });

    [Fact]
    public Task An_uplink_that_is_lost_within_the_requests_body_fails_the_request_although_the_body_was_kept() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "PUT", Sends = true });
            await asked.Visitor.SendAsync("half");
            await agent.ReadAsync(4);
            fixture.LoseUplink(agent.Uplink);
            Assert.Equal(["error UplinkLost"], await fixture.DoneAsync(asked));
            Assert.Equal(0, fixture.Arrived);
        },
        new ForwarderOptions { Uplinks = 2 });

    [Fact]
    public Task An_uplink_that_is_lost_within_the_answer_cuts_it() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "abc", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 3, "the first bytes are with the visitor");
        fixture.LoseUplink();
        Assert.Equal(["head 200", "body 3", "flush", "cut"], await fixture.DoneAsync(asked));
        Assert.Equal("failed UplinkLost within the answer", fixture.Moments.Of(asked.State)[^3]);
    });

    [Fact]
    public Task A_visitor_that_leaves_while_the_head_is_awaited_is_said_to_the_agent() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        asked.Visitor.Leave();
        Assert.Empty(await fixture.DoneAsync(asked));
        Assert.Equal(["began", "stream opened", "stream ended", "ended VisitorAborted"], fixture.Moments.Of(asked.State));
        await agent.ReadToEndAsync();
        Assert.Equal((StreamResetReason.Cancel, StreamResetDetail.None), await agent.ResetByAsync());
        Assert.Equal(["Visitor left request R1 for web"], fixture.Log.Of(2102));
        Assert.Null(asked.State.Error);
    });

    [Fact]
    public Task A_visitor_that_leaves_within_its_body_leaves_a_body_that_is_not_whole() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
        await asked.Visitor.SendAsync("half");
        await agent.ReadAsync(4);
        asked.Visitor.Leave();
        Assert.Equal("ended VisitorAborted", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(new AgentBody("", null, false), await agent.ReadToEndAsync());
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_visitor_that_leaves_within_the_answer_ends_it_at_the_agent() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "abc", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 3, "the first bytes are with the visitor");
        asked.Visitor.Leave();
        Assert.Equal(["head 200", "body 3", "flush"], await fixture.DoneAsync(asked));
        Assert.Equal(["began", "stream opened", "answered", "stream ended", "ended VisitorAborted"], fixture.Moments.Of(asked.State));
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_visitor_that_left_before_is_not_answered() => ForwarderFixture.RunAsync(async fixture =>
    {
        var visitor = new ScriptedVisitor { Host = "example.org" };
        visitor.Leave();
        var asked = fixture.Ask(visitor);
        Assert.Empty(await fixture.DoneAsync(asked));
        Assert.Equal(["began", "ended VisitorAborted"], fixture.Moments.Of(asked.State));
        Assert.Null(asked.State.Error);
    });

    [Fact]
    public Task A_visitor_that_left_just_before_its_stream_was_opened_still_leaves() => ForwarderFixture.RunAsync(async fixture =>
    {
        var visitor = new ScriptedVisitor();
        visitor.OnForward = visitor.Leave;
        var asked = fixture.Ask(visitor);
        Assert.Empty(await fixture.DoneAsync(asked));
        Assert.Equal(["began", "stream opened", "stream ended", "ended VisitorAborted"], fixture.Moments.Of(asked.State));
    });

    [Fact]
    public Task An_answer_that_ends_while_the_visitor_takes_nothing_waits_for_it() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "abc", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 3, "the first bytes are with the visitor");
        asked.Visitor.TakeNothing();
        await agent.SendAsync("de", end: true);
        await fixture.UntilAsync(() => asked.Visitor.IsWaitedFor && asked.State.WaitsForVisitor, "the visitor is waited for");
        Assert.False(asked.Done.IsCompleted);
        asked.Visitor.TakeAll();
        Assert.Equal(["head 200", "body 3", "flush", "body 2", "complete", "flush"], await fixture.DoneAsync(asked));
        Assert.Equal("ended Completed", fixture.Moments.Of(asked.State)[^1]);
    });

    [Fact]
    public Task A_visitor_that_leaves_before_it_has_taken_the_end_has_not_got_it() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "abc", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 3, "the first bytes are with the visitor");
        asked.Visitor.TakeNothing();
        await agent.SendAsync("de", end: true);
        await fixture.UntilAsync(() => asked.Visitor.IsWaitedFor, "the visitor is waited for");
        asked.Visitor.Leave();
        Assert.Equal("ended VisitorAborted", (await fixture.EndOfAsync(asked)).Outcome);
    });
}
