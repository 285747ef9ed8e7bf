using System.Net;
using System.Security.Cryptography;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.FunctionalTests.Uplinks;

public sealed class JoinTests
{
    [Fact]
    public async Task A_join_with_the_secret_adds_an_uplink_and_learns_everything_except_the_secret()
    {
        await using var entry = await EntryFixture.StartAsync();
        var (first, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink);
        await using var closing = first;
        Assert.Equal((HandshakeCapabilities.MultipleUplinks, TunnelSession.MaxUplinks), (welcome.Capabilities, welcome.MaxUplinks));
        await using var second = await RawUplink.JoinAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 7));
        var again = (await second.ReadAsync())!.Welcome;
        Assert.Equal(welcome.SessionId.ToArray(), again.SessionId.ToArray());
        Assert.Equal(new byte[WelcomeMessage.JoinSecretLength], again.JoinSecret.ToArray());
        Assert.Equal((welcome.Epoch, welcome.Name, welcome.MaxUplinks), (again.Epoch, again.Name, again.MaxUplinks));
        Assert.Equal(2, entry.Session.Tunnel.Uplinks.Count);
        Assert.Empty(await second.SyncAsync());
    }

    [Fact]
    public async Task A_session_lives_as_long_as_one_of_its_uplinks_the_first_or_not()
    {
        await using var entry = await EntryFixture.StartAsync();
        var (first, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink);
        await using var second = await RawUplink.JoinAsync(entry.Uplink, welcome);
        await first.DisposeAsync();
        await entry.WaitForUplinksAsync(1);
        await using (var third = await RawUplink.JoinAsync(entry.Uplink, welcome, 2))
        {
            Assert.Equal([0, 1], entry.Session.Tunnel.Uplinks.Select(static uplink => uplink.Slot).Order());
        }

        await entry.WaitForUplinksAsync(1);
        Assert.Empty(await second.SyncAsync());
        await second.Connection.CloseAsync();
        await entry.WaitForSessionsAsync(0);
        await AssertUnknownAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 3));
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public Task A_join_that_proves_nothing_is_refused_and_harms_no_other() => WithSessionAsync(async (entry, first, welcome) =>
    {
        var other = RandomNumberGenerator.GetBytes(WelcomeMessage.JoinSecretLength);
        await AssertUnknownAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, other, 1));
        await AssertUnknownAsync(
            entry.Uplink, JoinMessage.Create(welcome.SessionId, new byte[WelcomeMessage.JoinSecretLength], ulong.MaxValue));
        await AssertUnknownAsync(entry.Uplink, JoinMessage.Create(RandomNumberGenerator.GetBytes(16), welcome.JoinSecret.Span, 1));
        var proof = JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 1).Proof.ToArray();
        for (var bit = 0; bit < proof.Length * 8; bit += 37)
        {
            var wrong = proof.ToArray();
            wrong[bit / 8] ^= (byte)(1 << (bit % 8));
            await AssertUnknownAsync(entry.Uplink, new JoinMessage { SessionId = welcome.SessionId, Counter = 1, Proof = wrong });
        }

        // None of them used up a counter.
        await using var second = await RawUplink.JoinAsync(entry.Uplink, welcome);
        Assert.Empty(await first.SyncAsync());
    });

    [Fact]
    public Task A_proof_counts_once_and_none_counts_behind_a_later_one() => WithSessionAsync(async (entry, _, welcome) =>
    {
        var overheard = JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 5);
        await using (var second = await RawUplink.JoinAsync(entry.Uplink, overheard))
        {
            Assert.NotNull((await second.ReadAsync())!.Welcome);
            await AssertUnknownAsync(entry.Uplink, overheard);
        }

        await AssertUnknownAsync(entry.Uplink, overheard);
        await AssertUnknownAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 4));
        await AssertUnknownAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 0));
        await using var third = await RawUplink.JoinAsync(entry.Uplink, welcome, 6);
    });

    [Fact]
    public Task A_proof_for_another_session_opens_none() => WithSessionAsync(async (entry, _, welcome) =>
    {
        var (other, otherWelcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink, "other");
        await using var closing = other;
        var join = JoinMessage.Create(otherWelcome.SessionId, otherWelcome.JoinSecret.Span, 1);
        await AssertUnknownAsync(entry.Uplink, join with { SessionId = welcome.SessionId });
        await AssertUnknownAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, otherWelcome.JoinSecret.Span, 1));
    });

    [Fact]
    public Task A_join_of_another_version_and_one_cut_short_are_refused_with_the_reason() => WithSessionAsync(async (entry, _, welcome) =>
    {
        var join = JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 1);
        Assert.Equal(RejectCode.VersionNotSupported, (await RefusedAsync(entry.Uplink, (join with { Version = 2 }).ToFrame())).Code);
        Assert.Equal(RejectCode.VersionNotSupported, (await RefusedAsync(entry.Uplink, (join with { Version = 0 }).ToFrame())).Code);
        var whole = join.ToFrame();
        var cut = UplinkFrames.Make(
            FrameType.Join, FrameFlags.None, StreamId.Uplink, whole.AsSpan(FrameHeader.Size, whole.Length - FrameHeader.Size - 1));
        Assert.Equal(RejectCode.Malformed, (await RefusedAsync(entry.Uplink, cut)).Code);
    });

    [Fact]
    public Task A_session_has_a_most_of_uplinks_and_gets_another_when_one_has_gone() => WithSessionAsync(async (entry, first, welcome) =>
    {
        var uplinks = new List<RawUplink>();
        ulong counter = 0;
        for (var i = 1; i < TunnelSession.MaxUplinks; i++)
        {
            uplinks.Add(await RawUplink.JoinAsync(entry.Uplink, welcome, ++counter));
        }

        var reject = await RefusedAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, ++counter).ToFrame());
        Assert.Equal((RejectCode.Overloaded, true), (reject.Code, reject.IsRetryable));
        Assert.Empty(await first.SyncAsync());
        await uplinks[3].DisposeAsync();
        await entry.WaitForUplinksAsync(TunnelSession.MaxUplinks - 1);
        uplinks[3] = await RawUplink.JoinAsync(entry.Uplink, welcome, ++counter);
        Assert.Equal(
            Enumerable.Range(0, TunnelSession.MaxUplinks), entry.Session.Tunnel.Uplinks.Select(static uplink => uplink.Slot).Order());
        foreach (var uplink in uplinks)
        {
            await uplink.DisposeAsync();
        }
    });

    [Fact]
    public async Task An_agent_that_did_not_ask_for_several_uplinks_has_one()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var first = await RawUplink.ConnectAsync(entry.Uplink);
        await first.SendAsync(RawUplink.Hello().ToFrame());
        var welcome = (await first.ReadAsync())!.Welcome;
        Assert.Equal((HandshakeCapabilities.None, (byte)1), (welcome.Capabilities, welcome.MaxUplinks));
        var reject = await RefusedAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 1).ToFrame());
        Assert.Equal(RejectCode.Overloaded, reject.Code);
        Assert.Empty(await first.SyncAsync());
    }

    [Fact]
    public async Task A_session_that_was_taken_over_learns_it_on_every_uplink_and_takes_no_more()
    {
        await using var entry = await EntryFixture.StartAsync();
        var key = RandomNumberGenerator.GetBytes(16);
        var (first, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink, instanceKey: key);
        await using var second = await RawUplink.JoinAsync(entry.Uplink, welcome);
        var (younger, youngerWelcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink, instanceKey: key);
        await using var closing = younger;
        Assert.True(youngerWelcome.Epoch > welcome.Epoch);
        await AssertUnknownAsync(entry.Uplink, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, 2));
        foreach (var older in new[] { first, second })
        {
            var (phase, reason, _) = (await older.ReadUntilAsync(FrameType.GoAway)).GoAway;
            Assert.Equal((GoAwayPhase.Final, SessionEndReason.Superseded), (phase, reason));
            await older.DisposeAsync();
        }

        await using var added = await RawUplink.JoinAsync(entry.Uplink, youngerWelcome);
        await entry.Log.WaitForAsync(2001);
        Assert.Equal(2, entry.Session.Tunnel.Uplinks.Count);
        Assert.Equal(1, entry.Directory.Count);
    }

    [Fact]
    public Task A_breach_on_one_uplink_ends_the_whole_session() => WithSessionAsync(async (entry, first, welcome) =>
    {
        await using var second = await RawUplink.JoinAsync(entry.Uplink, welcome);
        await second.SendAsync(new byte[8]);
        Assert.Equal(nameof(ProtocolError.ReservedFrameType), (await second.ReadUntilAsync(FrameType.GoAway)).GoAway.Text);
        await second.DisposeAsync();
        var (phase, reason, text) = (await first.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.ProtocolError, nameof(ProtocolError.ReservedFrameType)), (phase, reason, text));
        await first.DisposeAsync();
        await entry.WaitForSessionsAsync(0);
    });

    private static async Task WithSessionAsync(Func<EntryFixture, RawUplink, WelcomeMessage, Task> test)
    {
        await using var entry = await EntryFixture.StartAsync();
        var (first, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink);
        await using var closing = first;
        await test(entry, first, welcome);
        entry.Log.AssertNoErrors();
    }

    private static async Task AssertUnknownAsync(IPEndPoint entry, JoinMessage join)
    {
        var reject = await RefusedAsync(entry, join.ToFrame());
        Assert.Equal((RejectCode.UnknownSession, TimeSpan.Zero), (reject.Code, reject.RetryAfter));
    }

    private static async Task<RejectMessage> RefusedAsync(IPEndPoint entry, byte[] frame)
    {
        await using var peer = await RawUplink.ConnectAsync(entry);
        await peer.SendAsync(frame);
        return Assert.Single(await peer.ReadToEndAsync()).Reject;
    }
}
