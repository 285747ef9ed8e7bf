using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

/// <summary>Peers that send without end what is legal once. <see cref="RawPeer.CloseAsync"/> checks that every buffer comes back.</summary>
public class HostileFloodTests
{
    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Streams_opened_without_limit_end_the_session_at_the_limit(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        const int Most = 100;
        var streams = new System.Collections.Concurrent.ConcurrentQueue<TunnelStream>();
        var peer = new RawPeer(engine, UplinkRole.Agent, new PairOptions { MaxStreams = Most }, streams.Enqueue);
        for (var slot = 0; slot < Most; slot++)
        {
            await peer.SendAsync(Frame.Request(new StreamId(slot, 1), "body"u8, end: false));
        }

        await engine.UntilAsync(() => streams.Count == Most, "all that may be open are");
        Assert.Null(peer.Uplink.End);
        await peer.SendAsync(Frame.Request(new StreamId(Most, 1)));
        await ExpectEndAsync(peer, ProtocolError.TooManyStreams);

        // The peer may read GOAWAY before the uplink has reported it to all of its streams.
        await engine.UntilAsync(() => streams.All(static stream => !stream.Failure.IsNone), "all streams know");
        Assert.All(streams, static stream => Assert.Equal(StreamFailureKind.UplinkLost, stream.Failure.Kind));
        foreach (var stream in streams)
        {
            stream.Release();
        }

        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Streams_opened_and_reset_in_a_flood_cost_one_slot_and_no_memory(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Agent, new PairOptions { MaxStreams = 4 }, static stream => _ = DrainAsync(stream));
            for (ushort generation = 1; generation <= 1000; generation++)
            {
                var id = new StreamId(0, generation);
                await peer.SendAsync(Frame.Request(id, "body"u8, end: false), Frame.Rst(id));
                Assert.Equal(id, (await peer.ReadUntilAsync(FrameType.Rst)).Header.Stream);
            }

            Assert.Null(peer.Uplink.End);
            await engine.UntilAsync(() => peer.Uplink.OpenStreams == 0, "no stream is open");
            Assert.InRange(peer.Buffers.Outstanding, 0, 4);
            await engine.UntilAsync(() => peer.Uplink.ReceiveCredit.Held == 0, "no credit is held");
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_peer_that_resets_in_a_flood_and_reads_no_answers_is_stopped_by_the_slots(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(
                engine, UplinkRole.Agent, new PairOptions { MaxStreams = 4, Capacity = 64 }, static stream => _ = DrainAsync(stream));
            peer.Transport.Incoming.Stall();
            for (var round = 0; peer.Uplink.End is null; round++)
            {
                Assert.True(round < 400, "A flood of resets must end.");
                var id = new StreamId(round % 4, (ushort)(1 + (round / 4)));
                await peer.SendAsync(Frame.Request(id, end: false), Frame.Rst(id));
                await engine.YieldAsync(3);
            }

            Assert.Equal(ProtocolError.StreamNotAllowed, peer.Uplink.End.Error);
            peer.Transport.Incoming.Resume();
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Empty_frames_hold_nothing_and_hold_no_stream_up(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry);
        var flooded = Ask(peer);
        var other = Ask(peer);
        await peer.SendAsync(Frame.Response(flooded.Id, 200, end: false), Frame.Response(other.Id, 200, end: false));
        var held = peer.Buffers.Outstanding;
        var flood = Frame.Join([.. Enumerable.Repeat(Frame.Data(flooded.Id, []), EmptyFrameBudget.Burst / 50)]);
        for (var i = 0; i < 50; i++)
        {
            await peer.SendAsync(flood);
            await peer.SendAsync(Frame.Data(other.Id, "x"u8));
        }

        await peer.SendAsync(Frame.Data(other.Id, [], end: true));
        Assert.Equal("200", await other.ReadHeadAsync());
        Assert.Equal(50, (await other.ReadBodyAsync()).Length);
        Assert.InRange(peer.Buffers.Outstanding, 0, held + 4);
        flooded.Release();
        other.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData("data")]
    [InlineData("data of a stream that is over")]
    [InlineData("window")]
    [InlineData("window of a stream that is over")]
    [InlineData("ping answer")]
    [InlineData("unknown")]
    [InlineData("rst of a stream that is over")]
    [InlineData("goodbye")]
    public Task Frames_that_carry_nothing_end_the_session_when_they_do_not_end(string kind) => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Capacity = 64 * 1024 });
            var over = Ask(peer);
            await peer.SendAsync(Frame.Response(over.Id, 204));
            Assert.Equal("204", await over.ReadHeadAsync());
            await over.ReadBodyAsync();
            var overId = over.Id;
            over.Release();
            var open = Ask(peer);
            await peer.SendAsync(Frame.Response(open.Id, 200, end: false));
            var frame = kind switch
            {
                "data" => Frame.Data(open.Id, []),
                "data of a stream that is over" => Frame.Data(overId, []),
                "window" => Frame.Window(open.Id, 1),
                "window of a stream that is over" => Frame.Window(overId, 100_000),
                "ping answer" => Frame.Ping(1, ack: true),
                "rst of a stream that is over" => Frame.Rst(overId),
                "goodbye" => Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.HandOver),
                _ => Frame.Make((FrameType)31, FrameFlags.None, StreamId.Uplink, "abc"u8),
            };
            var flood = Frame.Join([.. Enumerable.Repeat(frame, 100)]);
            for (var i = 0; i < EmptyFrameBudget.Burst / 100; i++)
            {
                await peer.SendAsync(flood);
            }

            Assert.Null(peer.Uplink.End);
            await peer.SendAsync(frame);
            await ExpectEndAsync(peer, ProtocolError.EmptyFrameFlood);
            open.Release();
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_agent_takes_few_lists_of_nodes_at_once(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Agent);
        var list = new NodeAnnouncement("e1", "a", []);
        await peer.SendAsync([.. Enumerable.Range(1, EmptyFrameBudget.ListBurst).Select(i => list.ToFrame((uint)i))]);
        Assert.Null(peer.Uplink.End);
        await peer.SendAsync(list.ToFrame(EmptyFrameBudget.ListBurst + 1));
        await ExpectEndAsync(peer, ProtocolError.EmptyFrameFlood);
        await peer.CloseAsync();
    });

    [Fact]
    public void Time_gives_empty_frames_back()
    {
        var time = new TestUtilities.ManualTimeProvider();
        var budget = new EmptyFrameBudget(EmptyFrameBudget.Burst, EmptyFrameBudget.PerSecond);
        for (var i = 0; i < EmptyFrameBudget.Burst; i++)
        {
            Assert.True(budget.TryTake(time));
        }

        time.Advance(TimeSpan.FromSeconds(2));
        for (var i = 0; i < 2 * EmptyFrameBudget.PerSecond; i++)
        {
            Assert.True(budget.TryTake(time));
        }

        Assert.False(budget.TryTake(time));
    }

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_window_that_never_opens_stops_its_own_stream_and_no_other(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { StreamWindow = 16_384 });
        var starved = peer.Uplink.TryOpenStream()!;
        Assert.Equal(StreamSendStatus.Sent, starved.SendRequest("/starved", new byte[16_384], end: false, out var taken));
        Assert.Equal(16_384, taken);
        var writing = engine.Start(async () => await starved.WriteAsync(new byte[100_000], end: true));
        for (var i = 0; i < 50; i++)
        {
            var other = Ask(peer);
            await peer.SendAsync(Frame.Response(other.Id, 204));
            Assert.Equal("204", await other.ReadHeadAsync());
            await other.ReadBodyAsync();
            other.Release();
        }

        Assert.False(writing.IsCompleted);
        Assert.Equal(16_384, peer.Uplink.Sending.OutstandingBytes);
        starved.Reset(StreamResetReason.BackendTimeout);
        Assert.Equal(StreamSendStatus.LocalReset, await writing);
        starved.Release();
        await peer.SyncAsync();
        await peer.CloseAsync();
    });

    private static TunnelStream Ask(RawPeer peer)
    {
        var stream = peer.Uplink.TryOpenStream();
        Assert.NotNull(stream);
        Assert.Equal(StreamSendStatus.Sent, stream.SendRequest("/"));
        return stream;
    }

    /// <summary>An exchange that reads what comes and gives the stream back when it is cut.</summary>
    private static async Task DrainAsync(TunnelStream stream)
    {
        await stream.ReadHeadAsync();
        await stream.ReadBodyAsync();
        stream.Release();
    }

    private static async Task ExpectEndAsync(RawPeer peer, ProtocolError error)
    {
        var goAway = (await peer.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.ProtocolError, error.ToString()), goAway);
        Assert.Equal(error, peer.Uplink.End!.Error);
    }
}
