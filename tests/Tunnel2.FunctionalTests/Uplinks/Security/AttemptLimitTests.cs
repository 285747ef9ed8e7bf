using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>Guessing tokens.</summary>
public sealed class AttemptLimitTests
{
    [Fact]
    public async Task An_address_that_fails_too_often_has_to_wait_and_others_do_not()
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(
            time, "AllowAnonymousAgents=false", "Uplink:FailuresPerMinute=3", "Agents:good:TokenHash=" + EntryTokens.HashSetting("right"));
        await using var running = await OpenAsync(entry, "127.0.0.1", "right", "running");
        for (var i = 0; i < 3; i++)
        {
            Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "127.0.0.1", $"guess {i}")).Code);
        }

        // From here on the answer is the same for a wrong token, a right one and none.
        var answers = new[]
        {
            await AskAsync(entry, "127.0.0.1", "guess"), await AskAsync(entry, "127.0.0.1", "right"),
            await AskAsync(entry, "127.0.0.1", null),
        };
        Assert.Equal(RejectCode.Overloaded, answers[0].Code);
        Assert.True(answers[0].IsRetryable);
        Assert.All(answers, answer => Assert.Equal(answers[0], answer));

        // An agent elsewhere comes in, and the one that is in stays.
        await using var elsewhere = await OpenAsync(entry, "127.0.0.2", "right", "elsewhere");
        await running.SyncAsync();

        time.Advance(answers[0].RetryAfter);
        await using var later = await OpenAsync(entry, "127.0.0.1", "right", "later");
    }

    [Fact]
    public async Task Every_refusal_of_a_proof_says_the_same()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "AllowAnonymousAgents=false", "Agents:good:TokenHash=" + EntryTokens.HashSetting("right"));
        var rejects = new[]
        {
            await AskAsync(entry, "127.0.0.1", null), await AskAsync(entry, "127.0.0.1", ""), await AskAsync(entry, "127.0.0.1", "righ"),
            await AskAsync(entry, "127.0.0.1", new string('x', 1000)),
        };
        Assert.Equal(RejectCode.Unauthorized, rejects[0].Code);
        Assert.All(rejects, reject => Assert.Equal(rejects[0], reject));
    }

    private static async Task<RawUplink> OpenAsync(EntryFixture entry, string from, string? token, string name)
    {
        var peer = await ConnectAsync(entry, from, token, name);
        Assert.Equal(FrameType.Welcome, (await peer.ReadAsync())?.Type);
        return peer;
    }

    private static async Task<RejectMessage> AskAsync(EntryFixture entry, string from, string? token)
    {
        await using var peer = await ConnectAsync(entry, from, token, "web");
        return Assert.Single(await peer.ReadToEndAsync()).Reject;
    }

    private static async Task<RawUplink> ConnectAsync(EntryFixture entry, string from, string? token, string name)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Bind(new IPEndPoint(IPAddress.Parse(from), 0));
        await socket.ConnectAsync(entry.Uplink);
        var peer = new RawUplink(new RawConnection(socket));
        var hello = RawUplink.Hello(name);
        await peer.SendAsync(
            (token is null ? hello : hello with { ProofKind = TokenProofKind.Bearer, Proof = Encoding.UTF8.GetBytes(token) }).ToFrame());
        return peer;
    }
}
