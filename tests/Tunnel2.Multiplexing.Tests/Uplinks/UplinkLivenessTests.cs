using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

public class UplinkLivenessTests
{
    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task After_a_request_a_silent_peer_is_asked_at_once_and_stalled_a_second_later(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var time = new ManualTimeProvider();
            using var heartbeat = new UplinkHeartbeat(time);
            var peer = new RawPeer(
                engine, UplinkRole.Entry, new PairOptions { Adjust = settings => settings with { TimeProvider = time } });
            heartbeat.Add(peer.Uplink);
            time.Advance(TimeSpan.FromMilliseconds(100));
            var stream = peer.Uplink.TryOpenStream()!;
            stream.SendRequest("/");
            await peer.ReadUntilAsync(FrameType.Headers);
            time.Advance(TimeSpan.FromMilliseconds(650));
            var ping = await peer.ReadUntilAsync(FrameType.Ping);
            Assert.False(peer.Uplink.IsStalled(time.GetTimestamp()));
            time.Advance(TimeSpan.FromMilliseconds(1001));
            Assert.True(peer.Uplink.IsStalled(time.GetTimestamp()));
            Assert.True(peer.Uplink.IsOpenForStreams);

            // Any sign of life ends it; the answer itself gives the round trip.
            await peer.SendAsync(Frame.Ping(ControlFrames.ReadPing(ping.Payload), ack: true));
            await engine.UntilAsync(() => peer.Uplink.RoundTrip.Last > TimeSpan.Zero, "the answer has come");
            Assert.False(peer.Uplink.IsStalled(time.GetTimestamp()));

            // A request that takes its time is asked about once, not again and again.
            var frames = peer.Uplink.Statistics.FramesSent;
            time.Advance(TimeSpan.FromSeconds(4));
            await engine.YieldAsync(5);
            Assert.Equal(frames, peer.Uplink.Statistics.FramesSent);
            stream.Release();
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_request_whose_answer_may_be_lost_is_asked_about_also_after_the_answer_to_another(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var time = new ManualTimeProvider();
            using var heartbeat = new UplinkHeartbeat(time);
            var peer = Watched(engine, time, heartbeat);
            var lost = await OpenAsync(peer);
            time.Advance(TimeSpan.FromMilliseconds(10));
            var other = await OpenAsync(peer);
            time.Advance(TimeSpan.FromMilliseconds(10));
            await peer.SendAsync(Frame.Response(other.Id, 200));
            await engine.UntilAsync(() => other.TryRead(out _), "the other answer has come");
            other.Release();

            // The hole begins here.
            time.Advance(TimeSpan.FromMilliseconds(740));
            await peer.ReadUntilAsync(FrameType.Ping);
            time.Advance(TimeSpan.FromMilliseconds(1001));
            Assert.True(peer.Uplink.IsStalled(time.GetTimestamp()));
            lost.Release();
            await peer.CloseAsync();
        });

    [Fact]
    public Task Long_polls_are_asked_about_once_each_and_connections_that_were_upgraded_never() => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var time = new ManualTimeProvider();
            using var heartbeat = new UplinkHeartbeat(time);
            var peer = Watched(engine, time, heartbeat);
            var webSocket = await OpenAsync(peer);
            await peer.SendAsync(Frame.Response(webSocket.Id, 101, end: false));
            await engine.UntilAsync(() => webSocket.TryRead(out _), "the upgrade has come");
            webSocket.ConsumeHead();
            var poll = await OpenAsync(peer);
            time.Advance(TimeSpan.FromMilliseconds(750));
            await AnswerPingAsync(peer, engine);

            // What comes for others is no reason to ask again, however often it comes; what is sent to them is.
            var asked = 0;
            for (var i = 0; i < 20; i++)
            {
                await peer.SendAsync(Frame.Data(webSocket.Id, "tick"u8));
                await engine.UntilAsync(() => webSocket.TryRead(out _), "a message has come");
                webSocket.ConsumeData(4);
                var before = peer.Uplink.Statistics.FramesSent;
                time.Advance(TimeSpan.FromSeconds(1));
                await engine.YieldAsync(5);
                asked += (int)(peer.Uplink.Statistics.FramesSent - before);
            }

            Assert.Equal(0, asked);
            var second = await OpenAsync(peer);
            await peer.SendAsync(Frame.Data(webSocket.Id, "tick"u8));
            await engine.UntilAsync(() => webSocket.TryRead(out _), "a message has come after the second request");
            webSocket.ConsumeData(4);
            time.Advance(TimeSpan.FromMilliseconds(750));
            await AnswerPingAsync(peer, engine);
            var quiet = peer.Uplink.Statistics.FramesSent;
            time.Advance(TimeSpan.FromSeconds(4));
            await engine.YieldAsync(5);
            Assert.Equal(quiet, peer.Uplink.Statistics.FramesSent);
            poll.Release();
            second.Release();
            webSocket.Release();
            await peer.CloseAsync();
        });

    [Fact]
    public Task A_request_that_waits_for_the_writer_is_asked_about_when_it_has_left() => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var time = new ManualTimeProvider();
            using var heartbeat = new UplinkHeartbeat(time);
            var peer = Watched(engine, time, heartbeat);
            var first = await OpenAsync(peer);
            var later = peer.Uplink.TryOpenStream()!;
            time.Advance(TimeSpan.FromMilliseconds(750));
            await AnswerPingAsync(peer, engine);
            later.SendRequest("/");
            await peer.ReadUntilAsync(FrameType.Headers);
            time.Advance(TimeSpan.FromMilliseconds(10));
            await peer.SendAsync(Frame.Response(first.Id, 200));
            await engine.UntilAsync(() => first.TryRead(out _), "the first answer has come");
            time.Advance(TimeSpan.FromMilliseconds(740));
            await peer.ReadUntilAsync(FrameType.Ping);
            first.Release();
            later.Release();
            await peer.CloseAsync();
        });

    private static RawPeer Watched(TestEngine engine, ManualTimeProvider time, UplinkHeartbeat heartbeat)
    {
        var peer = new RawPeer(
            engine, UplinkRole.Entry, new PairOptions { Adjust = settings => settings with { TimeProvider = time } });
        heartbeat.Add(peer.Uplink);
        time.Advance(TimeSpan.FromMilliseconds(100));
        return peer;
    }

    private static async Task<TunnelStream> OpenAsync(RawPeer peer)
    {
        var stream = peer.Uplink.TryOpenStream()!;
        stream.SendRequest("/");
        await peer.ReadUntilAsync(FrameType.Headers);
        return stream;
    }

    private static async Task AnswerPingAsync(RawPeer peer, TestEngine engine)
    {
        var ping = await peer.ReadUntilAsync(FrameType.Ping);
        await peer.SendAsync(Frame.Ping(ControlFrames.ReadPing(ping.Payload), ack: true));
        await engine.YieldAsync(5);
    }

    [Fact]
    public Task A_send_may_last_a_second_and_no_longer() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var time = new ManualTimeProvider();
        time.Advance(TimeSpan.FromSeconds(1));
        var peer = new RawPeer(
            engine, UplinkRole.Entry, new PairOptions { Capacity = 64, Adjust = settings => settings with { TimeProvider = time } });
        peer.Transport.Incoming.Stall();
        var stream = peer.Uplink.TryOpenStream()!;
        stream.SendRequest("/", new byte[100]);
        await engine.YieldAsync(5);
        time.Advance(TimeSpan.FromSeconds(1));
        Assert.False(peer.Uplink.IsStalled(time.GetTimestamp()));
        time.Advance(TimeSpan.FromTicks(1));
        Assert.True(peer.Uplink.IsStalled(time.GetTimestamp()));
        peer.Transport.Incoming.Resume();
        await peer.SyncAsync();
        Assert.False(peer.Uplink.IsStalled(time.GetTimestamp()));
        stream.Release();
        await peer.CloseAsync();
    });

    [Fact]
    public Task Two_idle_ends_do_not_keep_each_other_awake() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var time = new ManualTimeProvider();
        using var heartbeat = new UplinkHeartbeat(time);
        var pair = UplinkPair.Start(
            engine, Exchange.EchoAsync, new PairOptions { Adjust = settings => settings with { TimeProvider = time } });
        heartbeat.Add(pair.Entry);
        heartbeat.Add(pair.Agent);
        time.Advance(TimeSpan.FromSeconds(1));
        var stream = pair.Open();
        stream.SendRequest("/", "hello"u8);
        Assert.Equal("200", await stream.ReadHeadAsync());
        await stream.ReadBodyAsync();
        stream.Release();
        await pair.UntilQuietAsync();
        var before = pair.Entry.Statistics.FramesSent + pair.Agent.Statistics.FramesSent;
        for (var step = 0; step < 18; step++)
        {
            time.Advance(TimeSpan.FromMilliseconds(250));
            await engine.YieldAsync(5);
        }

        // At the most one question and one answer each way, for what each had sent last.
        Assert.InRange(pair.Entry.Statistics.FramesSent + pair.Agent.Statistics.FramesSent - before, 0, 4);
        Assert.False(pair.Entry.IsStalled(time.GetTimestamp()));
        await pair.FinishAsync();
    });
}
