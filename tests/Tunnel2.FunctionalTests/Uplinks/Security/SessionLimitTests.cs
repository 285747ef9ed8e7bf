using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>How many sessions and connections agents may have.</summary>
public sealed class SessionLimitTests
{
    [Fact]
    public async Task A_token_with_too_many_sessions_is_asked_to_come_again_and_may_when_one_ends()
    {
        await using var entry = await EntryFixture.StartAsync(
            null,
            "Agents:good:TokenHash=" + EntryTokens.HashSetting("good"),
            "Agents:good:Sessions=2",
            "Agents:other:TokenHash=" + EntryTokens.HashSetting("other"));
        var first = await OpenAsync(entry, "good", "one");
        await using var second = await OpenAsync(entry, "good", "two");
        await using (var third = await ConnectAsync(entry, "good", "three"))
        {
            var reject = Assert.Single(await third.ReadToEndAsync()).Reject;
            Assert.Equal(
                (RejectCode.Overloaded, true, "The agent has 2 sessions, and may have 2."), (reject.Code, reject.IsRetryable, reject.Text));
            Assert.True(reject.RetryAfter > TimeSpan.Zero);
        }

        await using var others = await OpenAsync(entry, "other", "others");

        // Its own name it gets again, as after a connection that was lost without a word.
        await using var again = await OpenAsync(entry, "good", "two");
        await first.DisposeAsync();
        await using var later = await OpenWhenThereIsRoomAsync(entry, "good", "three");
    }

    [Fact]
    public async Task Connections_beyond_the_limit_learn_why()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Uplink:Connections=2");
        await using var first = await OpenAsync(entry, null, "one");
        var second = await OpenAsync(entry, null, "two");
        await using (var third = await ConnectAsync(entry, null, "three"))
        {
            var reject = Assert.Single(await third.ReadToEndAsync()).Reject;
            Assert.Equal((RejectCode.Overloaded, "The server has as many connections of agents as it may."), (reject.Code, reject.Text));
        }

        await second.DisposeAsync();
        await using var later = await OpenWhenThereIsRoomAsync(entry, null, "three");
    }

    private static async Task<RawUplink> OpenAsync(EntryFixture entry, string? token, string name)
    {
        var peer = await ConnectAsync(entry, token, name);
        Assert.Equal(FrameType.Welcome, (await peer.ReadAsync())?.Type);
        return peer;
    }

    private static async Task<RawUplink> OpenWhenThereIsRoomAsync(EntryFixture entry, string? token, string name)
    {
        using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(30));
        while (true)
        {
            var peer = await ConnectAsync(entry, token, name);
            if ((await peer.ReadAsync())?.Type == FrameType.Welcome)
            {
                return peer;
            }

            await peer.DisposeAsync();
            limit.Token.ThrowIfCancellationRequested();
        }
    }

    private static async Task<RawUplink> ConnectAsync(EntryFixture entry, string? token, string name)
    {
        var peer = new RawUplink(await RawHttpClient.ConnectAsync(entry.Uplink));
        var hello = RawUplink.Hello(name);
        await peer.SendAsync(
            (token is null ? hello : hello with { ProofKind = TokenProofKind.Bearer, Proof = Encoding.UTF8.GetBytes(token) }).ToFrame());
        return peer;
    }
}
