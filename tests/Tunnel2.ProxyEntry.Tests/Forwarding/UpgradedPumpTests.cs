using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>Raw bytes both ways behind a 101.</summary>
public sealed class UpgradedPumpTests
{
    private static readonly (string, string) _webSocket = ("Upgrade", "websocket");

    [Fact]
    public Task Bytes_go_both_ways_until_both_directions_have_ended() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        Assert.Equal(["head 101", "upgrade"], asked.Visitor.Log);
        Assert.Equal(ForwardPhase.Upgraded, asked.State.Phase);
        await upgrade.SayAsync("ping");
        Assert.Equal("ping", await agent.ReadAsync(4));
        await agent.SendAsync("pong!");
        await fixture.UntilAsync(() => upgrade.Got == "pong!", "the visitor has it");
        await upgrade.SayAsync("bye", end: true);
        Assert.Equal(new AgentBody("bye", null, true), await agent.ReadToEndAsync());
        Assert.False(asked.Done.IsCompleted);
        await agent.SendAsync("bye", end: true);
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(("pong!bye", true, true), (upgrade.Got, upgrade.IsEnded, upgrade.Reader.IsCompleted));
        Assert.Equal((7L, 8L, 101), (asked.State.BytesReceived, asked.State.BytesSent, asked.State.Status));
        Assert.Equal(["began", "stream opened", "answered", "stream ended", "ended Upgraded"], fixture.Moments.Of(asked.State));
    });

    [Fact]
    public Task A_request_that_was_not_switched_is_an_ordinary_one() => ForwarderFixture.RunAsync(async fixture =>
    {
        var upgrade = new ScriptedUpgrade();
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Upgrade = upgrade });
        agent.Answer(200, "no", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 2, "the answer is with the visitor");
        Assert.Equal(new AgentBody("", null, true), await agent.ReadToEndAsync());
        await agent.SendAsync("!", end: true);
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.DoesNotContain("upgrade", asked.Visitor.Log);
    });

    [Fact]
    public Task Until_it_is_answered_a_request_to_switch_waits_for_a_head() => ForwarderFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor { Upgrade = new ScriptedUpgrade() });
        var agent = await fixture.AcceptAsync();
        Assert.Equal("GET web.localhost/ Upgrade", await agent.ReadHeadAsync());
        Assert.Equal(ForwardPhase.Head, asked.State.Phase);
        agent.Reset(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused);
        Assert.Equal(["error BackendRefused"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task The_end_of_the_backends_direction_leaves_the_visitors_open() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        await agent.SendAsync("last", end: true);
        await fixture.UntilAsync(() => upgrade.IsEnded, "the visitor has the end");
        Assert.Equal(ForwardPhase.Body, asked.State.Phase);
        await upgrade.SayAsync("still here");
        Assert.Equal("still here", await agent.ReadAsync(10));
        Assert.False(asked.Done.IsCompleted);
        upgrade.End();
        Assert.True((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.DoesNotContain("cut", asked.Visitor.Log);
    });

    [Fact]
    public Task A_front_that_can_only_end_both_directions_ends_both() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture, new ScriptedUpgrade { EndsApart = false });
        await agent.SendAsync("last", end: true);
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal("last", upgrade.Got);
        Assert.DoesNotContain("cut", asked.Visitor.Log);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(StreamResetReason.None, (await agent.ResetByAsync()).Reason);
        Assert.True(upgrade.Reader.IsCompleted);
    });

    [Fact]
    public Task The_end_of_the_visitors_direction_leaves_the_backends_open() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        upgrade.End();
        Assert.True((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(ForwardPhase.Body, asked.State.Phase);
        await agent.SendAsync("more");
        await fixture.UntilAsync(() => upgrade.Got == "more", "the visitor has it");
        await agent.SendAsync("", end: true);
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_reset_of_the_agent_cuts_the_visitor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        agent.Reset(StreamResetReason.BackendProtocol);
        Assert.Equal(["head 101", "upgrade", "cut"], await fixture.DoneAsync(asked));
        Assert.False(upgrade.IsEnded);
        Assert.True(upgrade.Reader.IsCompleted);
        Assert.Equal("ended Upgraded", fixture.Moments.Of(asked.State)[^1]);
    });

    [Fact]
    public Task A_lost_uplink_cuts_the_visitor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, _, upgrade) = await BeginAsync(fixture);
        fixture.LoseUplink();
        Assert.Equal(["head 101", "upgrade", "cut"], await fixture.DoneAsync(asked));
        Assert.True(upgrade.Reader.IsCompleted);
    });

    [Fact]
    public Task A_reset_behind_the_backends_end_ends_the_wait_for_the_visitor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        await agent.SendAsync("", end: true);
        await fixture.UntilAsync(() => upgrade.IsEnded && asked.State.WaitsForVisitor, "the visitor is waited for");
        agent.Reset(StreamResetReason.None);
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_lost_uplink_behind_the_backends_end_ends_the_wait_for_the_visitor() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        await agent.SendAsync("", end: true);
        await fixture.UntilAsync(() => upgrade.IsEnded, "the visitor has the end");
        fixture.LoseUplink();
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task A_visitor_whose_connection_breaks_is_a_cut_and_no_end_to_the_backend() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        await upgrade.SayAsync("half");
        await agent.ReadAsync(4);
        upgrade.End(new IOException("gone"));
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal("cut", asked.Visitor.Log[^1]);
    });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task A_visitor_that_takes_nothing_more_ends_both_directions(bool throws) => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture);
        upgrade.IsGone = !throws;
        upgrade.Fault = throws ? new IOException("gone") : null;
        await agent.SendAsync("more");
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal("cut", asked.Visitor.Log[^1]);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Fact]
    public Task A_visitor_that_leaves_ends_both_directions() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, _) = await BeginAsync(fixture);
        asked.Visitor.Leave();
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.False((await agent.ReadToEndAsync()).IsWhole);
        Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
    });

    [Theory]
    [InlineData(4, true)]
    [InlineData(5, false)]
    public Task A_read_may_be_interrupted_four_times(int interruptions, bool goesOn) => ForwarderFixture.RunAsync(async fixture =>
    {
        var upgrade = new ScriptedUpgrade();
        upgrade.Reader.Interruptions = interruptions;
        var (asked, agent, _) = await BeginAsync(fixture, upgrade);
        if (goesOn)
        {
            await upgrade.SayAsync("ping", end: true);
            Assert.Equal(new AgentBody("ping", null, true), await agent.ReadToEndAsync());
            await agent.SendAsync("", end: true);
        }
        else
        {
            Assert.False((await agent.ReadToEndAsync()).IsWhole);
            Assert.Equal(StreamResetReason.Cancel, (await agent.ResetByAsync()).Reason);
        }

        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Fact]
    public Task What_the_visitor_has_not_taken_gives_no_credit_back() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var upgrade = new ScriptedUpgrade { Taking = new TaskCompletionSource<bool>() };
            var (asked, agent, _) = await BeginAsync(fixture, upgrade);
            var sending = agent.WriteAsync(new byte[100_000]).AsTask();
            await fixture.UntilAsync(() => asked.State.WaitsForVisitor, "the visitor is waited for");
            await fixture.SettleAsync();
            Assert.False(sending.IsCompleted);
            Assert.InRange(upgrade.Got.Length, 1, 16 * 1024);
            upgrade.Taking.SetResult(true);
            await fixture.UntilAsync(() => upgrade.Got.Length == 100_000, "the visitor has all");
            upgrade.End();
            await agent.SendAsync("", end: true);
            Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        },
        new ForwarderOptions { Pair = new Multiplexing.Tests.InMemory.PairOptions { StreamWindow = 16 * 1024 } });

    [Fact]
    public Task A_WebSocket_whose_session_is_about_to_end_gets_a_goodbye_between_two_frames() => ForwarderFixture.RunAsync(async fixture =>
    {
        // Of the callbacks of a token the first is the last to run: then all others have run.
        var isSaid = false;
        await using var registration = fixture.Session.Leaving.Register(() => Volatile.Write(ref isSaid, true));
        var (asked, agent, upgrade) = await BeginAsync(fixture, fields: _webSocket);
        await agent.SendAsync("\u0082\u0003ab");
        await fixture.UntilAsync(() => upgrade.Got.Length == 4, "the first bytes are with the visitor");
        fixture.Session.MarkLeaving();
        await fixture.UntilAsync(() => Volatile.Read(ref isSaid), "everybody has heard of it");
        await agent.SendAsync("c\u0082\u0001d");
        await fixture.UntilAsync(() => upgrade.Got.Length == 9, "the goodbye is said");
        Assert.Equal("\u0082\u0003abc\u0088\u0002\u0003\u00e9", upgrade.Got);
        upgrade.End();
        await agent.SendAsync("", end: true);
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(8, asked.State.BytesSent);
    });

    [Fact]
    public Task What_is_no_WebSocket_gets_no_goodbye() => ForwarderFixture.RunAsync(async fixture =>
    {
        var (asked, agent, upgrade) = await BeginAsync(fixture, fields: ("Upgrade", "other"));
        fixture.Session.MarkLeaving();
        await fixture.SettleAsync();
        await agent.SendAsync("raw", end: true);
        upgrade.End();
        Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal("raw", upgrade.Got);
    });

    private static async Task<(AskedRequest Asked, AgentStream Agent, ScriptedUpgrade Upgrade)> BeginAsync(
        ForwarderFixture fixture, ScriptedUpgrade? upgrade = null, params (string, string)[] fields)
    {
        upgrade ??= new ScriptedUpgrade();
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Upgrade = upgrade });
        agent.Answer(101, end: false, fields: fields);
        await fixture.UntilAsync(() => asked.State.Phase == ForwardPhase.Upgraded, "the connection is switched");
        return (asked, agent, upgrade);
    }
}
