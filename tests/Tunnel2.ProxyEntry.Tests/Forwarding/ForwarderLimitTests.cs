using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>The limits of a stalled request: one by one, at their edge.</summary>
public sealed class ForwarderLimitTests
{
    private static readonly TimeSpan _headLimit = TimeSpan.FromSeconds(70);
    private static readonly TimeSpan _bodyLimit = TimeSpan.FromSeconds(40);
    private static readonly TimeSpan _hair = TimeSpan.FromMilliseconds(1);

    private static readonly ForwarderOptions _options = new() { Settings = ["Timeouts:BackendHeaders=70s", "Timeouts:BodyIdle=40s"] };

    private static readonly ForwarderOptions _unlimited = new() { Settings = ["Timeouts:BackendHeaders=off", "Timeouts:BodyIdle=off"] };

    [Fact]
    public Task A_head_may_take_as_long_as_its_limit_and_no_longer() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await LastsForAsync(fixture, _headLimit, async () => await fixture.BeginAsync());
            asked.StandStill(_headLimit + _hair);
            fixture.Look();
            Assert.Equal(["error BackendTimeout"], await fixture.DoneAsync(asked));
            Assert.Equal("ended Error", fixture.Moments.Of(asked.State)[^1]);
            await agent!.ReadToEndAsync();
            Assert.Equal((StreamResetReason.BackendTimeout, StreamResetDetail.None), await agent.ResetByAsync());
        },
        _options);

    [Fact]
    public Task A_request_whose_body_is_on_its_way_has_the_limit_of_bodies() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await LastsForAsync(
                fixture, _bodyLimit, async () => await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true }));
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            Assert.Equal(["error RequestTimeout"], await fixture.DoneAsync(asked));
            Assert.False((await agent!.ReadToEndAsync()).IsWhole);
            Assert.Equal((StreamResetReason.Cancel, StreamResetDetail.BodyIdle), await agent.ResetByAsync());
        },
        _options);

    [Fact]
    public Task A_service_that_does_not_take_the_body_is_named_when_it_stalls() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await LastsForAsync(fixture, _bodyLimit, async () =>
            {
                var (one, answers) = await fixture.BeginAsync(new ScriptedVisitor(unread: 8 << 20) { Asks = "POST", Sends = true });
                await one.Visitor.SendAsync(new string('x', 4 << 20));
                await fixture.UntilAsync(() => !one.State.WaitsForBody, "there is more of the body than the service takes");
                return (one, answers);
            });
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            Assert.Equal(["error BodyIdleTimeout"], await fixture.DoneAsync(asked));
            Assert.Equal((StreamResetReason.BackendTimeout, StreamResetDetail.BodyIdle), await agent!.ResetByAsync());
        },
        _options);

    [Fact]
    public Task A_request_whose_body_was_sent_has_the_limit_of_heads() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, _) = await LastsForAsync(fixture, _headLimit, async () =>
            {
                var (one, agent) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
                await one.Visitor.SendAsync("body", end: true);
                await agent.ReadToEndAsync();
                return (one, agent);
            });
            asked.StandStill(_headLimit + _hair);
            fixture.Look();
            Assert.Equal(["error BackendTimeout"], await fixture.DoneAsync(asked));
        },
        _options);

    [Fact]
    public Task An_answer_that_stalls_is_cut() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await LastsForAsync(fixture, _bodyLimit, () => AnswerAsync(fixture));
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            Assert.Equal(["head 200", "body 3", "flush", "cut"], await fixture.DoneAsync(asked));
            Assert.Equal((ProxyError.BodyIdleTimeout, "ended Aborted"), (asked.State.Error, fixture.Moments.Of(asked.State)[^1]));
            Assert.Equal((StreamResetReason.BackendTimeout, StreamResetDetail.BodyIdle), await agent!.ResetByAsync());
        },
        _options);

    [Fact]
    public Task A_visitor_that_takes_nothing_is_cut() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await LastsForAsync(fixture, _bodyLimit, async () =>
            {
                var (one, answers) = await fixture.BeginAsync();
                one.Visitor.TakeNothing();
                answers.Answer(200, "abc", end: false);
                await fixture.UntilAsync(() => one.State.WaitsForVisitor, "the visitor is waited for");
                return (one, answers);
            });
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            Assert.Contains("abort", await fixture.DoneAsync(asked));
            Assert.Equal((StreamResetReason.BackendTimeout, StreamResetDetail.BodyIdle), await agent!.ResetByAsync());
        },
        _options);

    [Fact]
    public Task A_visitor_that_does_not_take_its_error_is_cut() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, _) = await LastsForAsync(fixture, _bodyLimit, () =>
            {
                var visitor = new ScriptedVisitor { Flaw = ProxyError.BadRequest };
                visitor.TakeNothing();
                var one = fixture.Ask(visitor);
                Assert.True(one.State.WaitsForVisitor);
                return Task.FromResult<(AskedRequest, AgentStream?)>((one, null));
            });
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            Assert.Equal(["error BadRequest", "abort"], await fixture.DoneAsync(asked));
        },
        _options);

    [Fact]
    public Task A_visitor_that_does_not_take_what_came_before_the_cut_is_cut_at_once() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, _) = await LastsForAsync(fixture, _bodyLimit, async () =>
            {
                var (one, agent) = await AnswerAsync(fixture);
                one.Visitor.TakeNothing();
                agent!.Reset(StreamResetReason.Internal);
                await fixture.UntilAsync(() => one.State.WaitsForVisitor, "the visitor is waited for");
                return (one, agent);
            });
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            Assert.Equal(["head 200", "body 3", "flush", "cut", "abort"], await fixture.DoneAsync(asked));
        },
        _options);

    [Fact]
    public Task What_moves_is_not_cut() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync();
            agent.Answer(200, "1", end: false);
            await fixture.UntilAsync(() => asked.State.BytesSent == 1, "the first byte is with the visitor");
            for (var i = 2; i <= 4; i++)
            {
                await fixture.SettleAsync();
                asked.StandStill(_bodyLimit - TimeSpan.FromSeconds(5));
                fixture.Look();
                await agent.SendAsync("1");
                await fixture.UntilAsync(() => asked.State.BytesSent == i, "another byte is with the visitor");
                Assert.InRange(asked.State.IdleMilliseconds(new CoarseClock(fixture.Time).Milliseconds), 0, 30_000);
            }

            await agent.SendAsync("", end: true);
            Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
        },
        _options);

    [Fact]
    public Task An_upgraded_connection_has_no_limit_and_is_reported_each_second() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent, upgrade) = await UpgradeAsync(fixture);
            asked.StandStill(TimeSpan.FromDays(1));
            fixture.Look();
            fixture.Look();
            Assert.Equal(["lasts", "lasts"], fixture.Moments.Of(asked.State).Where(static moment => moment == "lasts"));
            Assert.False(asked.Done.IsCompleted);
            upgrade.End();
            await agent.SendAsync("", end: true);
            Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        },
        _options);

    [Fact]
    public Task An_upgraded_connection_of_which_the_backends_direction_is_left_has_the_limit_of_bodies() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await LastsForAsync(fixture, _bodyLimit, async () =>
            {
                var (one, answers, upgrade) = await UpgradeAsync(fixture);
                upgrade.End();
                Assert.True((await answers.ReadToEndAsync()).IsWhole);
                return (one, answers);
            });
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            Assert.Equal("cut", (await fixture.DoneAsync(asked))[^1]);
            Assert.Equal((StreamResetReason.BackendTimeout, StreamResetDetail.BodyIdle), await agent!.ResetByAsync());
        },
        _options);

    [Fact]
    public Task An_upgraded_connection_of_which_the_visitors_direction_is_left_has_the_limit_of_bodies() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent, upgrade) = await UpgradeAsync(fixture);
            await agent.SendAsync("", end: true);
            await fixture.UntilAsync(() => upgrade.IsEnded && asked.State.WaitsForVisitor, "the visitor is waited for");
            asked.StandStill(_bodyLimit - TimeSpan.FromSeconds(20));
            fixture.Look();
            Assert.DoesNotContain("abort", asked.Visitor.Log);
            asked.StandStill(_bodyLimit + _hair);
            fixture.Look();
            await fixture.UntilAsync(() => asked.Visitor.Log.Contains("abort"), "the visitor is cut");

            // Its connection is gone, which its reader finds out.
            upgrade.End(new IOException("gone"));
            Assert.Equal("ended Upgraded", (await fixture.EndOfAsync(asked)).Outcome);
        },
        _options);

    [Fact]
    public Task Without_limits_nothing_is_cut() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (waits, one) = await fixture.BeginAsync();
            var (uploads, two) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
            var (downloads, three) = await fixture.BeginAsync();
            three.Answer(200, "1", end: false);
            await fixture.UntilAsync(() => downloads.State.Phase == ForwardPhase.Body, "the answer has begun");
            await fixture.SettleAsync();
            foreach (var asked in new[] { waits, uploads, downloads })
            {
                asked.StandStill(TimeSpan.FromDays(10_000));
            }

            fixture.Look();
            await fixture.SettleAsync();
            Assert.DoesNotContain(new[] { waits, uploads, downloads }, static asked => asked.Done.IsCompleted);
            uploads.Visitor.EndBody();
            one.Answer();
            two.Answer();
            await three.SendAsync("", end: true);
            foreach (var asked in new[] { waits, uploads, downloads })
            {
                Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
            }
        },
        _unlimited);

    [Fact]
    public Task Of_many_requests_only_those_are_cut_that_stall() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var asked = new List<AskedRequest>();
            var agents = new List<AgentStream>();
            for (var i = 0; i < 5; i++)
            {
                var (one, agent) = await fixture.BeginAsync();
                asked.Add(one);
                agents.Add(agent);
            }

            asked[0].StandStill(_headLimit + _hair);
            asked[2].StandStill(_headLimit + _hair);
            asked[4].StandStill(_headLimit + _hair);
            fixture.Look();
            foreach (var i in new[] { 0, 2, 4 })
            {
                Assert.Equal(["error BackendTimeout"], await fixture.DoneAsync(asked[i]));
            }

            foreach (var i in new[] { 1, 3 })
            {
                Assert.False(asked[i].Done.IsCompleted);
                agents[i].Answer();
                Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked[i])).Outcome);
            }
        },
        _options);

    [Fact]
    public Task A_request_that_is_over_is_not_cut_for_its_next() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var request = new ForwardedRequest();
            var first = fixture.Forwarder.ForwardAsync(new ScriptedVisitor(), request).AsTask();
            var agent = await fixture.AcceptAsync();
            var use = request.Use;
            agent.Answer();
            await first;
            agent.Release();
            await fixture.UntilQuietAsync();

            var visitor = new ScriptedVisitor();
            var second = fixture.Forwarder.ForwardAsync(visitor, request).AsTask();
            var next = await fixture.AcceptAsync();
            request.Cut(use, ProxyError.BackendTimeout, StreamResetReason.BackendTimeout);
            Assert.Null(request.CutBy);
            await next.ReadHeadAsync();
            next.Answer(200, "ok");
            await second;
            Assert.Equal(["head 200", "body 2", "complete"], visitor.Log);
        },
        _options);

    /// <summary>A request that is exactly as old as its limit is left alone.</summary>
    private static async Task<(AskedRequest Asked, AgentStream? Agent)> LastsForAsync(
        ForwarderFixture fixture, TimeSpan limit, Func<Task<(AskedRequest Asked, AgentStream? Agent)>> begin)
    {
        var (asked, agent) = await begin();
        await fixture.SettleAsync();
        asked.StandStill(limit);
        fixture.Look();
        Assert.Null(asked.State.CutBy);
        Assert.DoesNotContain("abort", asked.Visitor.Log);
        Assert.False(asked.Done.IsCompleted);
        return (asked, agent);
    }

    private static async Task<(AskedRequest Asked, AgentStream? Agent)> AnswerAsync(ForwarderFixture fixture)
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer(200, "abc", end: false);
        await fixture.UntilAsync(() => asked.State.BytesSent == 3, "the first bytes are with the visitor");
        await fixture.SettleAsync();
        return (asked, agent);
    }

    private static async Task<(AskedRequest Asked, AgentStream Agent, ScriptedUpgrade Upgrade)> UpgradeAsync(ForwarderFixture fixture)
    {
        var upgrade = new ScriptedUpgrade();
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Upgrade = upgrade });
        agent.Answer(101, end: false);
        await fixture.UntilAsync(() => asked.State.Phase == ForwardPhase.Upgraded, "the connection is switched");
        return (asked, agent, upgrade);
    }
}
