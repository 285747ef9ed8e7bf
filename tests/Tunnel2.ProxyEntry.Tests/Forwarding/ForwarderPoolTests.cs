using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

/// <summary>Which member of a pool gets a request, and what happens when it does nothing with it.</summary>
public sealed class ForwarderPoolTests
{
    private static readonly ForwarderOptions _none = new() { IsOnline = false };

    [Fact]
    public Task Members_without_requests_get_them_in_turn() => RunAsync(3, async fixture =>
    {
        var counts = new int[3];
        for (var i = 0; i < 9; i++)
        {
            counts[await AskOnceAsync(fixture)]++;
        }

        Assert.Equal([3, 3, 3], counts);
    });

    [Fact]
    public Task The_member_with_the_fewest_requests_gets_the_next_one() => RunAsync(3, async fixture =>
    {
        var open = new List<(AskedRequest Asked, AgentStream Agent)>();
        for (var i = 0; i < 6; i++)
        {
            open.Add(await fixture.BeginAsync());
        }

        Assert.Equal([2, 2, 2], Enumerable.Range(0, 3).Select(number => open.Count(one => one.Agent.Uplink == number)));
        foreach (var one in open.Where(static one => one.Agent.Uplink == 1))
        {
            one.Agent.Answer();
            await fixture.DoneAsync(one.Asked);
        }

        Assert.Equal(1, await BeginAtAsync(fixture, open));
        Assert.Equal(1, await BeginAtAsync(fixture, open));
        foreach (var (asked, agent) in open.Where(static one => !one.Asked.Done.IsCompleted))
        {
            agent.Answer();
            await fixture.DoneAsync(asked);
        }
    });

    [Fact]
    public Task A_member_that_joined_gets_a_tenth_at_first_and_more_and_more() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            await ConnectAsync(fixture, slowStart: 0);
            await ConnectAsync(fixture, slowStart: 10);
            var shares = new List<int>();
            for (var second = 0; second <= 10; second += 5)
            {
                var count = 0;
                for (var i = 0; i < 400; i++)
                {
                    count += await AskOnceAsync(fixture);
                }

                shares.Add(count);
                fixture.Time.Advance(TimeSpan.FromSeconds(5));
            }

            // Of 400: half of a tenth, half of 55 %, half.
            Assert.InRange(shares[0], 5, 45);
            Assert.InRange(shares[1], 70, 150);
            Assert.Equal(200, shares[2]);
        },
        _none);

    [Fact]
    public Task A_service_that_takes_no_connection_moves_the_request_and_its_member_is_spared() => RunAsync(2, async fixture =>
    {
        var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST" });
        first.Reset(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused);
        var second = await fixture.AcceptAsync();
        Assert.NotEqual(first.Uplink, second.Uplink);
        await second.ReadHeadAsync();
        second.Answer(200, "ok");
        Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
        for (var i = 0; i < 4; i++)
        {
            Assert.Equal(second.Uplink, await AskOnceAsync(fixture));
        }

        fixture.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.Contains(first.Uplink, new[] { await AskOnceAsync(fixture), await AskOnceAsync(fixture) });
    });

    [Fact]
    public Task It_is_tried_at_three_members_each_once_and_no_more() => RunAsync(4, async fixture =>
    {
        var asked = fixture.Ask();
        var tried = new HashSet<int>();
        for (var i = 0; i < PoolTries.Most; i++)
        {
            var agent = await fixture.AcceptAsync();
            Assert.True(tried.Add(agent.Uplink));
            agent.Reset(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused);
        }

        Assert.Equal(["error BackendRefused"], await fixture.DoneAsync(asked));
        await fixture.SettleAsync();
        Assert.Equal(0, fixture.Arrived);
    });

    [Fact]
    public Task The_only_members_refusal_is_the_visitors_answer() => RunAsync(1, async fixture =>
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Reset(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused);
        Assert.Equal(["error BackendRefused"], await fixture.DoneAsync(asked));
        Assert.Equal(0, fixture.Arrived);
    });

    [Theory]
    [InlineData(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse)]
    [InlineData(StreamResetReason.BackendTimeout, StreamResetDetail.None)]
    [InlineData(StreamResetReason.Internal, StreamResetDetail.None)]
    public Task A_request_that_may_have_been_carried_out_is_not_tried_again(StreamResetReason reason, StreamResetDetail detail) =>
        RunAsync(2, async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync();
            agent.Reset(reason, detail);
            Assert.Equal("ended Error", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(0, fixture.Arrived);
        });

    [Fact]
    public Task A_long_body_that_the_first_member_had_is_not_sent_to_another_one() => RunAsync(2, async fixture =>
    {
        var (asked, first) = await fixture.BeginAsync(new ScriptedVisitor { Asks = "POST", Sends = true });
        await asked.Visitor.SendAsync(new string('x', 20_000));
        await first.ReadAsync(20_000);
        first.Reset(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused);
        Assert.Equal("ended Error", (await fixture.EndOfAsync(asked)).Outcome);
        Assert.Equal(0, fixture.Arrived);
    });

    [Fact]
    public Task A_request_that_a_lost_member_never_got_goes_to_another_one() => RunAsync(2, async fixture =>
    {
        var (asked, first) = await fixture.BeginAsync();
        first.Refuse();
        var second = await fixture.AcceptAsync();
        Assert.NotEqual(first.Uplink, second.Uplink);
        await second.ReadHeadAsync();
        second.Answer();
        Assert.Equal("ended Completed", (await fixture.EndOfAsync(asked)).Outcome);
    });

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public Task After_any_change_of_members_a_request_goes_to_one_of_the_best(int seed) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var random = new Random(seed);
            var members = new List<Modelled>();
            for (var step = 0; step < 250; step++)
            {
                await ChangeAsync(fixture, random, members);
                if (members.TrueForAll(static one => one.Said))
                {
                    Assert.NotEqual(NameState.Online, fixture.Directory.Find("web", out _));
                    continue;
                }

                var uplink = await AskOnceAsync(fixture);
                var chosen = members.Find(one => one.Uplink == uplink);
                var best = members.Where(static one => !one.Said).Min(one => one.Rank(fixture));
                Assert.True(chosen is { Said: false } && chosen.Rank(fixture) == best, $"seed {seed}, step {step}: {chosen}, best {best}");
                Assert.Equal(members.Count, fixture.Directory.Count);
            }
        },
        _none);

    private static async Task ChangeAsync(ForwarderFixture fixture, Random random, List<Modelled> members)
    {
        var one = members.Count == 0 ? null : members[random.Next(members.Count)];
        switch (random.Next(8))
        {
            case 0 when members.Count < 6:
                var session = await ConnectAsync(fixture, slowStart: random.Next(2) * 10);
                members.Add(new Modelled(session, fixture.Pairs.Count - 1, fixture.Epoch));
                break;
            case 1 when one is not null:
                await fixture.Directory.UnregisterAsync("web", one.Epoch, isKept: true, CancellationToken.None);
                fixture.LoseUplink(one.Uplink);
                members.Remove(one);
                break;
            case 2 when one is not null:
                await fixture.Directory.MarkLeavingAsync("web", one.Epoch, CancellationToken.None);
                one.Said = true;
                break;
            case 3 when one is not null:
                await fixture.Directory.MarkHandingOverAsync("web", one.Epoch, CancellationToken.None);
                (one.Said, one.HandsOver) = (false, true);
                break;
            case 4 or 5 when one is not null:
                one.Healthy = random.Next(2) == 0;
                one.Session.Member!.Report(one.Healthy ? ServiceState.Healthy : ServiceState.Unhealthy, ++one.Counter);
                break;
            case 6 when one is not null:
                one.Session.Member!.Spare();
                one.SparedUntil = fixture.Time.GetTimestamp() + fixture.Time.TimestampFrequency;
                break;
            default:
                fixture.Time.Advance(TimeSpan.FromMilliseconds(random.Next(1500)));
                break;
        }
    }

    private static Task RunAsync(int members, Func<ForwarderFixture, Task> body) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            for (var i = 0; i < members; i++)
            {
                await ConnectAsync(fixture, slowStart: 0);
            }

            await body(fixture);
        },
        _none);

    private static Task<EntrySession> ConnectAsync(ForwarderFixture fixture, int slowStart) => fixture.ConnectAsync(member:
        new PoolMember(fixture.Time, TimeSpan.FromSeconds(slowStart), TimeSpan.FromSeconds(1), isHealthy: true));

    /// <summary>Asks, has the agent answer, and gives the number of its uplink.</summary>
    private static async Task<int> AskOnceAsync(ForwarderFixture fixture)
    {
        var (asked, agent) = await fixture.BeginAsync();
        agent.Answer();
        await fixture.DoneAsync(asked);
        return agent.Uplink;
    }

    private static async Task<int> BeginAtAsync(ForwarderFixture fixture, List<(AskedRequest Asked, AgentStream Agent)> open)
    {
        open.Add(await fixture.BeginAsync());
        return open[^1].Agent.Uplink;
    }

    private sealed record Modelled(EntrySession Session, int Uplink, long Epoch)
    {
        public bool Said { get; set; }

        public bool HandsOver { get; set; }

        public bool Healthy { get; set; } = true;

        public uint Counter { get; set; }

        public long SparedUntil { get; set; }

        public int Rank(ForwarderFixture fixture) =>
            (Healthy && fixture.Time.GetTimestamp() >= SparedUntil ? 0 : 4) + (HandsOver ? 2 : 0);
    }
}
