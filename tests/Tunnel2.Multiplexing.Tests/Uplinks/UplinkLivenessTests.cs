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
