using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>A further uplink of a session: who may add one, and who hears what.</summary>
public sealed class UplinkJoinTests
{
    [Fact]
    public Task A_further_uplink_carries_requests_and_shows_no_secret_again() => AcceptorFixture.RunAsync(async fixture =>
    {
        var first = await fixture.ConnectAsync();
        var second = await fixture.JoinAsync(first.Welcome, 1);
        var welcome = await second.WelcomedAsync();
        Assert.True(welcome.SessionId.Span.SequenceEqual(first.Welcome.SessionId.Span));
        Assert.False(welcome.JoinSecret.Span.ContainsAnyExcept((byte)0));
        Assert.Equal(("web", first.Welcome.Epoch), (welcome.Name, welcome.Epoch));
        var uplinks = fixture.Session.Tunnel.Uplinks;
        Assert.Equal([0, 1], uplinks.Select(static uplink => uplink.Slot));
        Assert.Equal((2, 2, 1), (fixture.Quota.Connections, fixture.Heartbeat.Count, fixture.Joins.Count));
        Assert.Equal((1L, 0), (fixture.Metrics["tunnel2.entry.sessions.active"], fixture.Handshakes.Limit.Count));
        Assert.Single(fixture.UplinksLog.Of(2000));
        Assert.StartsWith("Uplink 1 of session", Assert.Single(fixture.UplinksLog.Of(2004)), StringComparison.Ordinal);
        var stream = fixture.Session.Tunnel.TryOpenStream(except: uplinks[0].Streams)!;
        stream.SendRequest("/");
        await fixture.UntilAsync(() => second.Streams.Count == 1, "the stream reaches the agent");
        second.Streams[0].Release();
        stream.Release();
    });

    [Fact]
    public Task A_session_has_so_many_uplinks_and_no_more() => AcceptorFixture.RunAsync(async fixture =>
    {
        var first = await fixture.ConnectAsync();
        for (var i = 1; i < TunnelSession.MaxUplinks; i++)
        {
            await (await fixture.JoinAsync(first.Welcome, (ulong)i)).WelcomedAsync();
        }

        await RefusedAsync(fixture, AcceptorFixture.Join(first.Welcome, 100), RejectCode.Overloaded, 10);
        Assert.Equal(
            (TunnelSession.MaxUplinks, TunnelSession.MaxUplinks), (fixture.Session.Tunnel.Uplinks.Count, fixture.Quota.Connections));
    });

    [Theory]
    [InlineData(5, 5)]
    [InlineData(5, 4)]
    [InlineData(1, 0)]
    public Task A_JOIN_counts_once(int first, int second) => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        await (await fixture.JoinAsync(agent.Welcome, (ulong)first)).WelcomedAsync();
        await RefusedAsync(fixture, AcceptorFixture.Join(agent.Welcome, (ulong)second), RejectCode.UnknownSession);
        await (await fixture.JoinAsync(agent.Welcome, (ulong)first + 1)).WelcomedAsync();
    });

    [Fact]
    public Task Who_does_not_know_the_secret_does_not_join_and_uses_up_no_number() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var wrong = agent.Welcome with { JoinSecret = new byte[WelcomeMessage.JoinSecretLength] };
        await RefusedAsync(fixture, AcceptorFixture.Join(wrong, 9), RejectCode.UnknownSession);
        await (await fixture.JoinAsync(agent.Welcome, 1)).WelcomedAsync();
    });

    [Fact]
    public Task An_unknown_session_cannot_be_joined_also_without_a_secret() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var nobodys = agent.Welcome with
        {
            SessionId = new byte[WelcomeMessage.SessionIdLength],
            JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
        };
        await RefusedAsync(fixture, AcceptorFixture.Join(nobodys, 1), RejectCode.UnknownSession);
    });

    [Fact]
    public Task A_session_that_is_over_cannot_be_joined() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        await agent.LoseAsync();
        await RefusedAsync(fixture, AcceptorFixture.Join(agent.Welcome, 1), RejectCode.UnknownSession);
    });

    [Fact]
    public Task A_session_that_is_ending_cannot_be_joined() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var session = fixture.Session;

        // As a JOIN finds it that was judged just before the end.
        session.Tunnel.End(SessionEndReason.Shutdown, "");
        await agent.DoneAsync();
        fixture.Joins.Add(session);
        await RefusedAsync(fixture, AcceptorFixture.Join(agent.Welcome, 1), RejectCode.UnknownSession, text: "The session is over.");
        fixture.Joins.Remove(session);
    });

    [Fact]
    public Task A_session_that_is_leaving_cannot_be_joined() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        fixture.Session.MarkLeaving();
        await RefusedAsync(fixture, AcceptorFixture.Join(agent.Welcome, 1), RejectCode.UnknownSession);
    });

    [Fact]
    public Task While_ProxyEntry_stops_no_uplink_joins() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        fixture.Drain.Begin();
        await RefusedAsync(fixture, AcceptorFixture.Join(agent.Welcome, 1), RejectCode.GoingAway, 10);
    });

    [Fact]
    public Task The_last_quarter_of_all_places_is_for_first_uplinks() => AcceptorFixture.RunAsync(async fixture =>
    {
        fixture.Quota.MostConnections = 4;
        var agent = await fixture.ConnectAsync();
        await (await fixture.JoinAsync(agent.Welcome, 1)).WelcomedAsync();
        await (await fixture.JoinAsync(agent.Welcome, 2)).WelcomedAsync();
        await RefusedAsync(fixture, AcceptorFixture.Join(agent.Welcome, 3), RejectCode.Overloaded, 10);
        Assert.Equal(3, fixture.Quota.Connections);
        await fixture.ConnectAsync(AcceptorFixture.Hello("other"));
    });

    [Fact]
    public Task A_JOIN_of_another_version_is_refused() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var join = JoinMessage.Create(agent.Welcome.SessionId, agent.Welcome.JoinSecret.Span, 1) with { Version = 2 };
        await RefusedAsync(fixture, join.ToFrame(), RejectCode.VersionNotSupported);
    });

    [Fact]
    public Task A_JOIN_that_cannot_be_read_is_refused() => AcceptorFixture.RunAsync(fixture =>
        RefusedAsync(fixture, Frame.Make(FrameType.Join, FrameFlags.None, StreamId.Uplink, "TNL3"u8), RejectCode.Malformed));

    private static async Task RefusedAsync(AcceptorFixture fixture, byte[] join, RejectCode code, int seconds = 0, string? text = null)
    {
        var connections = fixture.Quota.Connections;
        var reject = await (await fixture.SayAsync(join)).RejectedAsync();
        Assert.Equal((code, TimeSpan.FromSeconds(seconds)), (reject.Code, reject.RetryAfter));
        Assert.Equal(text ?? reject.Text, reject.Text);

        // It costs nothing that is kept, and no warning: any machine can send JOINs.
        Assert.Equal(connections, fixture.Quota.Connections);
        Assert.Equal((1L, 0), (fixture.Metrics[$"tunnel2.entry.uplinks.refused:{code}"], fixture.RejectionLog.Lines.Count));
        Assert.Single(fixture.Log.Of(2010));
    }
}
