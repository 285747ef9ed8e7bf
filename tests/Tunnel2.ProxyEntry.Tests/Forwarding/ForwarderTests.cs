using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>One request of a visitor, from its head to its end: what becomes of it, who hears of it, and what is left.</summary>
public sealed class ForwarderTests
{
    private static readonly string[] _wholeMoments = ["began", "stream opened", "answered", "stream ended", "ended Completed"];

    [Fact]
    public Task A_request_reaches_the_agent_and_its_answer_the_visitor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor { Path = "/x?y", Fields = [("Accept", "*/*")] });
        var agent = await fixture.AcceptAsync();
        Assert.Equal("GET web.localhost/x?y|Accept: */*", await agent.ReadHeadAsync());
        Assert.Equal(new AgentBody("", null, true), await agent.ReadToEndAsync());
        agent.Answer(201, "hello", fields: [("Server", "s"), ("Content-Length", "5")]);
        Assert.Equal(["head 201 with length", "body 5", "complete"], await fixture.DoneAsync(asked));
        Assert.Equal(("hello", "Server: s|Content-Length: 5"), (asked.Visitor.Body, asked.Visitor.ResponseFields));
        Assert.Equal(_wholeMoments, fixture.Moments.Of(asked.State));
        Assert.Equal((201, 5L, 0L, 0), (asked.State.Status, asked.State.BytesSent, asked.State.BytesReceived, asked.State.UplinkIndex));
        Assert.Empty(fixture.Log.Lines);
    });

    [Fact]
    public Task One_object_serves_one_request_after_another() => ForwarderFixture.RunAsync(async fixture =>
    {
        var request = new ForwardedRequest();
        for (var i = 1; i <= 3; i++)
        {
            var visitor = new ScriptedVisitor();
            var forwarding = fixture.Forwarder.ForwardAsync(visitor, request).AsTask();
            var agent = await fixture.AcceptAsync();
            await agent.ReadHeadAsync();
            agent.Answer(200 + i, "x");
            await forwarding;
            Assert.Equal((200 + i, 1L, i), (request.Status, request.BytesSent, request.Use));
            agent.Release();
            await fixture.UntilQuietAsync();
        }
    });

    [Fact]
    public Task Requests_at_the_same_time_have_a_stream_each() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (first, one) = await fixture.BeginAsync();
        var (second, two) = await fixture.BeginAsync();
        Assert.Equal(2, fixture.Pairs[0].Entry.OpenStreams);
        two.Answer(200, "2");
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(second)).Outcome);
        Assert.False(first.Done.IsCompleted);
        one.Answer(200, "1");
        await fixture.DoneAsync(first);
        Assert.Equal(("1", "2"), (first.Visitor.Body, second.Visitor.Body));
    });

    [Fact]
    public Task The_times_of_a_request_are_those_of_the_clock() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        fixture.Time.Advance(TimeSpan.FromMilliseconds(300));
        agent.Answer(200, "1", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 1, "the first byte is with the visitor");
        fixture.Time.Advance(TimeSpan.FromMilliseconds(500));
        await agent.SendAsync("2", end: true);
        await fixture.DoneAsync(asked);
        var times = asked.State.Times;
        Assert.Equal(
            (TimeSpan.Zero, TimeSpan.FromMilliseconds(300), TimeSpan.FromMilliseconds(800)), (times.Wait, times.FirstByte, times.Total));
        Assert.Equal(TimeSpan.FromMilliseconds(300), times.SinceHeadSent(times.ResponseHead));
    });

    [Fact]
    public Task A_request_with_a_fault_is_answered_and_goes_nowhere() => ForwarderFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor { Flaw = ProxyError.MethodNotSupported });
        Assert.Equal(["error MethodNotSupported"], await fixture.DoneAsync(asked));
        Assert.Equal(["began", "failed MethodNotSupported with 501", "ended Error"], fixture.Moments.Of(asked.State));
        Assert.Equal((0, -1), (fixture.Arrived, asked.State.UplinkIndex));
        Assert.Equal(["Request R1 for web refused: method-not-supported"], fixture.Log.Of(2101));
        Assert.Equal(0, fixture.Pairs[0].Entry.Streams.Table.Opened);
    });

    [Theory]
    [InlineData("example.org", nameof(ProxyError.UnknownHost), 404)]
    [InlineData("a b", nameof(ProxyError.InvalidHost), 400)]
    public Task An_unknown_name_is_answered(string host, string error, int status) => ForwarderFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor { Host = host });
        Assert.Equal([$"error {error}"], await fixture.DoneAsync(asked));
        Assert.Equal(["began", $"failed {error} with {status}", "ended Error"], fixture.Moments.Of(asked.State));
        Assert.Equal(error, asked.State.Error.ToString());
        Assert.Contains(host, Assert.Single(fixture.Log.Lines).Line, StringComparison.Ordinal);
    });

    [Fact]
    public Task A_host_of_any_length_and_content_is_a_short_clean_word_in_the_log() => ForwarderFixture.RunAsync(async fixture =>
    {
        await fixture.DoneAsync(fixture.Ask(new ScriptedVisitor { Host = "user:secret@" + new string('h', 300) + "\n.org" }));
        var line = Assert.Single(fixture.Log.Lines).Line;
        Assert.DoesNotContain("secret", line, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', line);
        Assert.Contains(new string('h', 255), line, StringComparison.Ordinal);
        Assert.DoesNotContain(new string('h', 256), line, StringComparison.Ordinal);
    });

    [Theory]
    [InlineData(1_000)]
    [InlineData(2_000)]
    [InlineData(30_000)]
    [InlineData(65_000)]
    public Task A_head_may_be_large(int length) => ForwarderFixture.RunAsync(async fixture =>
    {
        var value = new string('v', length);
        var asked = fixture.Ask(new ScriptedVisitor { Fields = [("X-Long", value)] });
        var agent = await fixture.AcceptAsync();
        Assert.Equal($"GET web.localhost/|X-Long: {value}", await agent.ReadHeadAsync());
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_head_that_no_block_can_hold_is_refused() => ForwarderFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor { Fields = [("X-Long", new string('v', 66_000))] });
        Assert.Equal(["error RequestHeadTooLarge"], await fixture.DoneAsync(asked));
        Assert.Equal(
            ["began", "stream opened", "failed RequestHeadTooLarge with 431", "stream ended", "ended Error"],
            fixture.Moments.Of(asked.State));
        await fixture.SettleAsync();
        Assert.Equal(0, fixture.Arrived);
    });

    [Theory]
    [InlineData(200, true)]
    [InlineData(201, false)]
    public Task A_head_may_have_two_hundred_fields(int count, bool isTaken) => ForwarderFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor { Fields = [.. Enumerable.Range(0, count).Select(static i => ($"X-{i}", "1"))] });
        if (isTaken)
        {
            var agent = await fixture.AcceptAsync();
            Assert.EndsWith("|X-199: 1", await agent.ReadHeadAsync(), StringComparison.Ordinal);
            agent.Answer();
        }

        Assert.Equal(isTaken ? "ended Completed" : "ended Error", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(isTaken ? null : ProxyError.RequestHeadTooLarge, asked.State.Error);
    });

    [Fact]
    public Task A_fault_before_the_head_is_sent_is_answered_and_logged() => ForwarderFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor { FaultOfBlock = new InvalidTimeZoneException() });
        Assert.Equal(["error Internal"], await fixture.DoneAsync(asked));
        Assert.Equal(
            ["began", "stream opened", "stream ended", "failed Internal with 500", "ended Error"], fixture.Moments.Of(asked.State));
        Assert.Single(fixture.Log.Of(2104));
        Assert.Equal(["Request R1 for web failed at the entry: internal-error"], fixture.Log.Of(2100));
    });

    [Fact]
    public Task A_fault_while_the_answer_is_written_cuts_it_at_once() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { FaultOfBody = new InvalidTimeZoneException() });
        agent.Answer(200, end: false);
        await fixture.UntilAsync(() => asked.Visitor.HasResponseStarted, "the head has left");
        await agent.SendAsync("x");
        Assert.Equal(["head 200", "flush", "abort"], await fixture.DoneAsync(asked));
        Assert.Equal(
            ["began", "stream opened", "answered", "stream ended", "failed Internal within the answer", "ended Aborted"],
            fixture.Moments.Of(asked.State));
        await agent.ReadToEndAsync();
        Assert.Equal((StreamResetReason.None, StreamResetDetail.None), await agent.ResetByAsync());
    });

    [Fact]
    public Task A_fault_while_the_body_is_on_its_way_waits_for_its_pump() => ForwarderFixture.RunAsync(async fixture =>
    {
        var visitor = new ScriptedVisitor { Asks = "POST", Sends = true, FaultOfHead = new InvalidTimeZoneException() };
        var (asked, agent) = await fixture.BeginAsync(visitor);
        await asked.Visitor.SendAsync("half");
        Assert.Equal("half", await agent.ReadAsync(4));
        agent.Answer();
        Assert.Equal(["error Internal"], await fixture.DoneAsync(asked));
        Assert.Equal(1, asked.Visitor.StopsOfReading);
        Assert.True(asked.Visitor.IsBodyRead);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(StreamResetReason.Internal, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task An_observer_that_throws_costs_its_request_only() => ForwarderFixture.RunAsync(async fixture =>
    {
        fixture.Moments.FailsAt = "answered";
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer();
        Assert.Equal(["error Internal"], await fixture.DoneAsync(asked));
        Assert.Equal("ended Error", fixture.Moments.Of(asked.State)[^1]);

        fixture.Moments.FailsAt = null;
        var (next, answers) = await fixture.BeginAsync();
        answers.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(next)).Outcome);
    });

    [Fact]
    public Task A_visitor_of_another_loop_is_moved_to_that_of_the_uplink() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Loop = new ManualScheduler(), IsMovable = true });
        Assert.Same(fixture.Pairs[0].Entry.Settings.WriterScheduler, asked.Visitor.MovedTo);
        Assert.Equal(LoopPath.Moved, asked.State.LoopPath);
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_visitor_that_cannot_be_moved_is_served_from_where_it_is() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Loop = new ManualScheduler() });
        Assert.Equal(LoopPath.Crossed, asked.State.LoopPath);
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_visitor_of_the_uplinks_loop_stays_there() => ForwarderFixture.RunAsync(async fixture =>
    {
        var home = fixture.Pairs[0].Entry.Settings.WriterScheduler;
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Loop = home, IsMovable = true });
        Assert.Equal((LoopPath.Same, null), (asked.State.LoopPath, asked.Visitor.MovedTo));
        agent.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });
}
