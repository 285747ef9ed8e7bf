using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>A further session of a process that says which of its sessions run: nothing that they carry is cut.</summary>
public sealed class RunningSessionTests
{
    [Fact]
    public Task A_session_that_runs_here_is_not_replaced_by_another_one_of_its_process() => AcceptorFixture.RunAsync(async fixture =>
    {
        var older = await fixture.ConnectAsync();
        var session = fixture.Session;
        var stream = session.Tunnel.TryOpenStream()!;
        stream.SendRequest("/");
        await fixture.UntilAsync(() => older.Streams.Count == 1, "the stream reaches the agent");
        var reject = await fixture.RefusedAsync(Running(older));
        Assert.Equal((RejectCode.SessionRunning, TimeSpan.FromMinutes(1)), (reject.Code, reject.RetryAfter));
        Assert.Contains($"This is {fixture.Settings.EntryId}", reject.Text, StringComparison.Ordinal);
        Assert.Same(session, fixture.Session);
        Assert.False(session.IsLeaving);
        await AnswerAsync(older, stream);
        Assert.Equal((1, 0), (fixture.Quota.Connections, fixture.Log.Of(2003).Count));
    });

    [Fact]
    public Task A_session_that_was_asked_to_go_makes_place_and_finishes() => AcceptorFixture.RunAsync(async fixture =>
    {
        var older = await fixture.ConnectAsync();
        var session = fixture.Session;
        var stream = session.Tunnel.TryOpenStream()!;
        stream.SendRequest("/");
        await fixture.UntilAsync(() => older.Streams.Count == 1, "the stream reaches the agent");
        session.Tunnel.Uplinks[0].SendGoAwayNotice(SessionEndReason.Shutdown, "Out of service for a while.");
        await fixture.UntilAsync(() => older.Goodbyes.Count == 1, "the agent hears of it");
        var younger = await fixture.ConnectAsync(Running(older));
        Assert.Equal(younger.Welcome.Epoch, (ulong)fixture.Session.Epoch);
        Assert.True(session.IsLeaving);
        Assert.Null(session.Tunnel.TryOpenStream());
        Assert.False(older.Serving.IsCompleted);
        await AnswerAsync(older, stream);
        await older.DoneAsync();
    });

    [Fact]
    public Task Ids_of_others_and_of_sessions_that_are_over_change_nothing() => AcceptorFixture.RunAsync(async fixture =>
    {
        var other = await fixture.ConnectAsync(AcceptorFixture.Hello("other", instance: "b"));
        var first = await fixture.ConnectAsync(Running(other));
        await first.LoseAsync();
        var second = await fixture.ConnectAsync(Running(first, other));

        // What it does not name it has lost.
        var session = fixture.Session;
        await fixture.ConnectAsync(Running(other));
        await second.DoneAsync();
        Assert.Equal(SessionEndReason.Superseded, session.Tunnel.Completion.Result.Reason);
    });

    private static HelloMessage Running(params DialledAgent[] sessions) => AcceptorFixture.Hello() with
    {
        Capabilities = HandshakeCapabilities.MultipleUplinks | HandshakeCapabilities.RunningSessions,
        Running = [.. sessions.Select(static one => new Guid(one.Welcome.SessionId.Span))],
    };

    private static async Task AnswerAsync(DialledAgent agent, Multiplexing.Streams.TunnelStream stream)
    {
        agent.Streams[0].SendResponse(200, "ok"u8, end: true, out _);
        Assert.Equal("200", await stream.ReadHeadAsync());
        Assert.True((await stream.ReadBodyAsync()).InOrder);
        stream.Release();
        agent.Streams[0].Release();
    }
}
