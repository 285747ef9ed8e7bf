using System.Text;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Sessions;

/// <summary>
/// A name that was not reserved, after its session: it is kept for a while, and what visitors sent for its owner reaches no other agent.
/// </summary>
public sealed class KeptNameTests
{
    private const string Secret = "GET /private HTTP/1.1\r\nHost: " + TunnelFixture.Host + "\r\nCookie: session=secret\r\n\r\n";

    private static readonly string[] _tokens =
    [
        "Agents:a:TokenHash=" + EntryTokens.HashSetting("token-a"), "Agents:b:TokenHash=" + EntryTokens.HashSetting("token-b"),
    ];

    [Theory]
    [InlineData("token-a", "token-b", true)]
    [InlineData("token-a", "token-b", false)]
    [InlineData("token-a", null, true)]
    [InlineData(null, "token-b", false)]
    [InlineData(null, null, true)]
    [InlineData(null, null, false)]
    public async Task The_first_to_come_gets_neither_the_name_nor_what_waits_for_it(string? owner, string? stranger, bool saysGoodbye)
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(time, [.. _tokens, "Timeouts:Park=3s"]);
        await LeaveAsync(entry, owner, saysGoodbye);

        // The waiting requests are looked at every 100 ms from here on, so that the name is free 50 ms before the visitor is sent away.
        time.Advance(TimeSpan.FromMilliseconds(50));
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.WriteAsync(Secret);
        await entry.WaitForParkedAsync(1);

        // The stranger tries until it gets the name.
        foreach (var wait in new[] { 0, 1_450, 1_490 })
        {
            time.Advance(TimeSpan.FromMilliseconds(wait));
            await using var early = await RawUplink.ConnectAsync(entry.Uplink);
            await early.SendAsync(Hello(stranger, "stranger").ToFrame());
            var answer = (await early.ReadAsync())!;
            Assert.Equal(RejectCode.NameTaken, answer.Reject.Code);
            Assert.InRange(answer.Reject.RetryAfter.TotalSeconds, 0.001, 3);
        }

        time.Advance(TimeSpan.FromMilliseconds(20));
        await using var other = await RawUplink.ConnectAsync(entry.Uplink);
        await other.SendAsync(Hello(stranger, "stranger").ToFrame());
        Assert.NotNull((await other.ReadAsync())!.Welcome);
        Assert.Equal(1, entry.ParkedRequests);
        Assert.DoesNotContain(await other.SyncAsync(), static frame => frame.Type == FrameType.Headers);
        time.Advance(TimeSpan.FromMilliseconds(100));
        Assert.Equal(503, (await visitor.ReadHeadAsync()).StatusCode);
        Assert.DoesNotContain(await other.SyncAsync(), static frame => frame.Type == FrameType.Headers);
    }

    [Theory]
    [InlineData("token-a", true)]
    [InlineData("token-a", false)]
    [InlineData(null, true)]
    [InlineData(null, false)]
    public async Task The_owner_gets_both_at_once(string? owner, bool saysGoodbye)
    {
        await using var entry = await EntryFixture.StartAsync(null, [.. _tokens, "Timeouts:Park=20s"]);
        await LeaveAsync(entry, owner, saysGoodbye);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.WriteAsync(Secret);
        await entry.WaitForParkedAsync(1);

        await using var back = await RawUplink.ConnectAsync(entry.Uplink);
        await back.SendAsync(Hello(owner, "owner").ToFrame());
        Assert.NotNull((await back.ReadAsync())!.Welcome);
        Assert.Contains("session=secret", (await back.ReadUntilAsync(FrameType.Headers)).RequestText, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_agent_that_learns_that_the_name_is_kept_says_so_and_has_it_after_a_while()
    {
        await using var entry = await EntryFixture.StartAsync(null, [.. _tokens, "Timeouts:Park=2s"]);
        await LeaveAsync(entry, "token-a", saysGoodbye: true);
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, 9) with { Token = "token-b" });
        await agent.Events.ReadyCount.WaitForAsync(1, TimeSpan.FromSeconds(20));
        Assert.Contains(agent.Events.Ends, static end => end.Rejection?.Reason == RejectionReason.NameKept);
    }

    [Fact]
    public async Task A_token_for_all_names_may_not_claim_one_that_another_lists_more_specifically()
    {
        await using var entry = await EntryFixture.StartAsync(null, [.. _tokens, "Agents:a:Names=*", "Agents:b:Names=web,team-*"]);
        foreach (var (name, mayClaim) in new[] { ("web", false), ("team-1", false), ("other", true) })
        {
            await using var uplink = await RawUplink.ConnectAsync(entry.Uplink);
            await uplink.SendAsync((Hello("token-a", "a") with { WantedName = name }).ToFrame());
            var answer = (await uplink.ReadAsync())!;
            Assert.Equal(mayClaim ? FrameType.Welcome : FrameType.Reject, answer.Type);
            Assert.True(mayClaim || answer.Reject is { Code: RejectCode.NameNotAllowed, IsRetryable: false });
        }
    }

    private static async Task LeaveAsync(EntryFixture entry, string? token, bool saysGoodbye)
    {
        await using (var uplink = await RawUplink.ConnectAsync(entry.Uplink))
        {
            await uplink.SendAsync(Hello(token, "owner").ToFrame());
            Assert.NotNull((await uplink.ReadAsync())!.Welcome);
            if (saysGoodbye)
            {
                await uplink.SendAsync(UplinkFrames.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown));
            }
        }

        await entry.WaitForSessionsAsync(0);
    }

    private static HelloMessage Hello(string? token, string who)
    {
        var hello = RawUplink.Hello() with { OwnerKey = Encoding.ASCII.GetBytes(who.PadRight(32, '.')) };
        return token is null ? hello : hello with { ProofKind = TokenProofKind.Bearer, Proof = Encoding.UTF8.GetBytes(token) };
    }
}
