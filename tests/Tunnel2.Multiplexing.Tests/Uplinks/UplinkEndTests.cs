using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

public class UplinkEndTests
{
    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task The_last_words_are_said_although_a_send_was_under_way(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Capacity = 100 });
        var stream = peer.Uplink.TryOpenStream();
        Assert.NotNull(stream);
        stream.SendRequest("/", new byte[5000], end: false, out _);
        await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Superseded, Text: "elsewhere"));
        Assert.Equal(StreamSendStatus.UplinkLost, await stream.WriteAsync(new byte[1], end: true));
        stream.Release();
        var goAway = (await peer.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.Superseded, "elsewhere"), goAway);
        Assert.Null(await peer.ReadAsync());
        var end = await peer.CloseAsync();
        Assert.Equal(SessionEndReason.Superseded, end.Reason);
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task No_stream_is_accepted_once_the_uplink_has_ended(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var accepted = 0;
        var peer = new RawPeer(engine, UplinkRole.Agent, onStream: stream =>
        {
            accepted++;
            stream.Release();
        });
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await peer.SendAsync(Frame.Request(new StreamId(0, 1), "body"u8, end: false));
        await peer.CloseAsync();
        Assert.Equal(0, accepted);
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Frames_behind_the_end_do_not_hurry_it(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Agent, onStream: stream => stream.Release());
        await peer.SendAsync(Frame.Request(new StreamId(0, 1), "body"u8, end: false));
        await peer.SyncAsync();
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await peer.SendAsync(Frame.Data(new StreamId(0, 1), "more"u8), Frame.Data(new StreamId(3, 1), "nonsense"u8));
        await peer.ReadUntilAsync(FrameType.GoAway);
        Assert.Null(await peer.ReadAsync());
        Assert.False(peer.Run.IsCompleted);
        Assert.Equal(SessionEndReason.Shutdown, (await peer.CloseAsync()).Reason);
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task The_end_that_a_peer_says_is_the_end(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var told = new List<GoAwayPhase>();
        var peer = new RawPeer(engine, UplinkRole.Entry, onGoAway: (_, phase) => told.Add(phase));
        var stream = peer.Uplink.TryOpenStream();
        Assert.NotNull(stream);
        stream.SendRequest("/");
        var unfinished = peer.Uplink.TryOpenStream();
        Assert.NotNull(unfinished);
        unfinished.SendRequest("/");
        await peer.SendAsync(Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown));
        await peer.SyncAsync();
        Assert.Null(peer.Uplink.TryOpenStream());
        Assert.Null(peer.Uplink.End);
        await peer.SendAsync(Frame.Response(stream.Id, 200, "served"u8));
        Assert.Equal("200", await stream.ReadHeadAsync());
        Assert.Equal(6, (await stream.ReadBodyAsync()).Length);
        stream.Release();
        await peer.SendAsync(Frame.GoAway(GoAwayPhase.Final, SessionEndReason.Superseded, "elsewhere"));
        var end = await peer.CloseAsync();
        unfinished.Release();
        Assert.Equal(new UplinkEnd(SessionEndReason.Superseded, ByPeer: true, Text: "elsewhere"), end);
        Assert.Equal([GoAwayPhase.Notice, GoAwayPhase.Final], told);
    });

    [Theory]
    [InlineData(EngineKind.Inline, true)]
    [InlineData(EngineKind.Pool, true)]
    [InlineData(EngineKind.Inline, false)]
    [InlineData(EngineKind.Pool, false)]
    public Task A_draining_uplink_ends_behind_its_last_stream_and_not_before(EngineKind kind, bool peerDrains) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Entry);
            var first = peer.Uplink.TryOpenStream()!;
            var second = peer.Uplink.TryOpenStream()!;
            first.SendRequest("/1");
            second.SendRequest("/2");
            if (peerDrains)
            {
                await peer.SendAsync(Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown));
            }
            else
            {
                peer.Uplink.Drain(SessionEndReason.Shutdown, "");
            }

            await peer.SyncAsync();
            Assert.Null(peer.Uplink.TryOpenStream());
            foreach (var stream in new[] { first, second })
            {
                Assert.Null(peer.Uplink.End);
                await peer.SendAsync(Frame.Response(stream.Id, 200, "served"u8));
                Assert.Equal("200", await stream.ReadHeadAsync());
                Assert.Equal(6, (await stream.ReadBodyAsync()).Length);
                stream.Release();
            }

            await AssertEndsByItselfAsync(peer);
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_agent_that_hands_over_takes_streams_also_when_it_takes_back_its_notice(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Entry);
            var first = peer.Uplink.TryOpenStream()!;
            first.SendRequest("/1");
            await peer.SendAsync(Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.HandOver));
            await peer.SyncAsync();
            var second = peer.Uplink.TryOpenStream()!;
            second.SendRequest("/2");
            await peer.SendAsync(Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown));
            await peer.SyncAsync();
            Assert.Null(peer.Uplink.TryOpenStream());
            await peer.SendAsync(Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.HandOver));
            await peer.SyncAsync();
            foreach (var stream in new[] { first, second })
            {
                await peer.SendAsync(Frame.Response(stream.Id, 200, "served"u8));
                Assert.Equal("200", await stream.ReadHeadAsync());
                Assert.Equal(6, (await stream.ReadBodyAsync()).Length);
                stream.Release();
            }

            // Nothing is open, and yet it continues: only the notice ends it.
            var third = peer.Uplink.TryOpenStream()!;
            third.SendRequest("/3");
            await peer.SendAsync(Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown));
            await peer.SyncAsync();
            await peer.SendAsync(Frame.Response(third.Id, 200, "served"u8));
            Assert.Equal("200", await third.ReadHeadAsync());
            third.Release();
            await AssertEndsByItselfAsync(peer);
        });

    [Fact]
    public Task A_draining_uplink_without_a_stream_ends_at_once() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry);
        await peer.SendAsync(Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown));
        await AssertEndsByItselfAsync(peer);
        Assert.Null(peer.Uplink.TryOpenStream());
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_draining_agent_refuses_new_streams_and_serves_the_old(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var proceed = new TaskCompletionSource();
        var pair = UplinkPair.Start(engine, async stream =>
        {
            await proceed.Task;
            await Exchange.EchoAsync(stream);
        });
        var old = pair.Open();
        old.SendRequest("/", "old"u8);
        await engine.UntilAsync(() => pair.Accepted == 1, "the stream was accepted");
        pair.Agent.RefuseNewStreams();
        var refused = pair.Open();
        refused.SendRequest("/", "new"u8);
        Assert.Equal("PeerReset", await refused.ReadHeadAsync());
        Assert.Equal(
            new StreamFailure(StreamFailureKind.PeerReset, StreamResetReason.Refused, StreamResetDetail.GoingAway), refused.Failure);
        refused.Release();
        proceed.SetResult();
        Assert.Equal("200", await old.ReadHeadAsync());
        Assert.Equal("old"u8.ToArray(), (await old.ReadBodyAsync()).Bytes);
        old.Release();
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_handler_that_throws_resets_its_stream_and_nothing_else(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var calls = 0;
        var peer = new RawPeer(engine, UplinkRole.Agent, onStream: stream =>
        {
            calls++;
            throw new InvalidOperationException("a fault of the handler");
        });
        for (ushort i = 1; i <= 3; i++)
        {
            await peer.SendAsync(Frame.Request(new StreamId(0, i), "body"u8));
            var rst = await peer.ReadUntilAsync(FrameType.Rst);
            Assert.Equal(StreamResetReason.Internal, ControlFrames.ReadRst(rst.Payload, out _));
        }

        Assert.Equal(3, calls);
        Assert.Null(peer.Uplink.End);
        Assert.Equal(SessionEndReason.PeerClosed, (await peer.CloseAsync()).Reason);
    });

    private static async Task AssertEndsByItselfAsync(RawPeer peer)
    {
        var last = default((GoAwayPhase, SessionEndReason, string));
        while (await peer.ReadAsync() is { } frame)
        {
            last = frame.Header.Type == FrameType.GoAway ? frame.GoAway : last;
        }

        Assert.Equal((GoAwayPhase.Final, SessionEndReason.Shutdown), (last.Item1, last.Item2));
        Assert.Equal(SessionEndReason.Shutdown, (await peer.CloseAsync()).Reason);
    }
}
