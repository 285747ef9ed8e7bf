using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Heartbeat;

public class UplinkHeartbeatTests
{
    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_silent_peer_is_asked_after_five_seconds_and_given_up_after_fifteen(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var time = new ManualTimeProvider();
            using var heartbeat = new UplinkHeartbeat(time);
            var peer = Make(engine, time, heartbeat);
            var stream = peer.Uplink.TryOpenStream();
            Assert.NotNull(stream);
            time.Advance(TimeSpan.FromSeconds(5));
            Assert.Equal(0, peer.Uplink.Statistics.FramesSent);
            time.Advance(TimeSpan.FromSeconds(1));
            var ping = await peer.ReadAsync();
            Assert.Equal(FrameType.Ping, ping!.Header.Type);
            Assert.Equal(FrameFlags.None, ping.Header.Flags);
            time.Advance(TimeSpan.FromSeconds(8.75));
            Assert.Null(peer.Uplink.End);
            time.Advance(TimeSpan.FromSeconds(0.25));
            Assert.Equal(SessionEndReason.PeerSilent, peer.Uplink.End!.Reason);
            Assert.Equal(StreamSendStatus.UplinkLost, stream.SendRequest("/"));
            stream.Release();
            Assert.Equal(SessionEndReason.PeerSilent, (await peer.Run).Reason);
            await engine.UntilAsync(() => peer.Buffers.Outstanding == 0, "every buffer is back");
            heartbeat.Remove(peer.Uplink);
            Assert.Equal(0, heartbeat.Count);
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Any_byte_is_a_sign_of_life(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var time = new ManualTimeProvider();
        using var heartbeat = new UplinkHeartbeat(time);
        var peer = Make(engine, time, heartbeat);
        var frame = Frame.Make((FrameType)20, FrameFlags.None, StreamId.Uplink, new byte[10]);
        foreach (var piece in frame)
        {
            time.Advance(TimeSpan.FromSeconds(14));
            var before = peer.Uplink.Statistics.BytesReceived;
            await peer.Transport.SendAsync(new[] { piece });
            await engine.UntilAsync(() => peer.Uplink.Statistics.BytesReceived > before, "the byte has arrived");
        }

        Assert.Null(peer.Uplink.End);
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task The_answer_to_a_ping_gives_the_round_trip(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var time = new ManualTimeProvider();
        using var heartbeat = new UplinkHeartbeat(time);
        var peer = Make(engine, time, heartbeat);
        time.Advance(TimeSpan.FromMilliseconds(5250));
        var ping = await peer.ReadAsync();
        await peer.SendAsync(Frame.Ping(12345, ack: true));
        await peer.SyncAsync();
        Assert.Equal(0, peer.Uplink.RoundTrip.Last.TotalMicroseconds);
        time.Advance(TimeSpan.FromMilliseconds(250));
        await peer.SendAsync(Frame.Ping(ControlFrames.ReadPing(ping!.Payload), ack: true));
        await peer.SyncAsync();
        Assert.Equal(250_000, peer.Uplink.RoundTrip.Last.TotalMicroseconds);
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_send_that_makes_no_end_ends_the_uplink(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var time = new ManualTimeProvider();
        using var heartbeat = new UplinkHeartbeat(time);
        var peer = Make(engine, time, heartbeat, 1000);
        peer.Transport.Incoming.Stall();
        var stream = peer.Uplink.TryOpenStream();
        Assert.NotNull(stream);
        stream.SendRequest("/", new byte[10_000], end: false, out _);
        await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
        var writing = engine.Start(async () => await stream.WriteAsync(new byte[10], end: true));
        for (var second = 0; second < 60; second++)
        {
            time.Advance(TimeSpan.FromSeconds(1));
            var before = peer.Uplink.Statistics.BytesReceived;
            await peer.SendAsync(Frame.Ping(1, ack: true));
            await engine.UntilAsync(() => peer.Uplink.Statistics.BytesReceived > before, "the peer is alive");
        }

        Assert.Null(peer.Uplink.End);
        time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(SessionEndReason.WriteStalled, peer.Uplink.End!.Reason);
        Assert.Equal(StreamSendStatus.UplinkLost, await writing);
        stream.Release();
        Assert.Equal(SessionEndReason.WriteStalled, (await peer.Run).Reason);
        await engine.UntilAsync(() => peer.Buffers.Outstanding == 0, "every buffer is back");
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_peer_that_does_not_read_the_last_words_is_not_waited_for_long(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var time = new ManualTimeProvider();
            using var heartbeat = new UplinkHeartbeat(time);
            var peer = Make(engine, time, heartbeat, 1000);
            peer.Transport.Incoming.Stall();
            var stream = peer.Uplink.TryOpenStream();
            Assert.NotNull(stream);
            stream.SendRequest("/", new byte[10_000], end: false, out _);
            await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
            peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
            stream.Release();
            await engine.UntilAsync(() => time.ArmedTimers.Value == 2, "the farewell's time runs");
            Assert.False(peer.Run.IsCompleted);
            time.Advance(TimeSpan.FromSeconds(1));
            Assert.Equal(SessionEndReason.Shutdown, (await peer.Run).Reason);
            await engine.UntilAsync(() => peer.Buffers.Outstanding == 0, "every buffer is back");
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_uplink_that_throws_ends_and_all_others_are_looked_after(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        const int Broken = 4;
        var time = new ManualTimeProvider();
        var faults = new ContainedFaults(time);
        using var heartbeat = new UplinkHeartbeat(time, faults);
        var told = new int[9];
        var peers = Enumerable.Range(0, told.Length).Select(i => Make(engine, time, heartbeat, onStall: _ =>
        {
            told[i]++;
            if (i == Broken)
            {
                throw new InvalidTimeZoneException();
            }
        })).ToArray();
        foreach (var peer in peers)
        {
            peer.Uplink.TryOpenStream()!.SendRequest("/");
            await peer.ReadUntilAsync(FrameType.Headers);
        }

        time.Advance(TimeSpan.FromMilliseconds(750));
        foreach (var peer in peers)
        {
            await peer.ReadUntilAsync(FrameType.Ping);
        }

        time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(0, told.Sum());
        time.Advance(UplinkLiveness.HeartbeatPeriod);
        Assert.Equal((1, 9), (faults.Count, told.Sum()));
        Assert.Equal(SessionEndReason.Internal, peers[Broken].Uplink.End!.Reason);
        time.Advance(UplinkLiveness.HeartbeatPeriod);
        Assert.All(told.Where(static (_, i) => i != Broken), static times => Assert.Equal(2, times));
        Assert.Equal((1, 1), (faults.Count, told[Broken]));

        // Later, too: peers that stay silent are given up, all with the same tick.
        time.Advance(TimeSpan.FromSeconds(12.5));
        Assert.All(peers.Where(static (_, i) => i != Broken), static peer => Assert.Null(peer.Uplink.End));
        time.Advance(TimeSpan.FromSeconds(0.25));
        Assert.All(
            peers.Where(static (_, i) => i != Broken), static peer => Assert.Equal(SessionEndReason.PeerSilent, peer.Uplink.End!.Reason));
        Assert.Equal(1, faults.Count);
    });

    [Fact]
    public Task An_uplink_that_throws_each_time_is_counted_each_time_and_costs_no_other_its_beat() => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var time = new ManualTimeProvider();
            var failing = new FailingTimeProvider(time);
            var faults = new ContainedFaults(time);
            using var heartbeat = new UplinkHeartbeat(time, faults);
            var sound = Make(engine, time, heartbeat);
            var broken = Make(engine, failing, heartbeat);
            var alsoSound = Make(engine, time, heartbeat);
            for (var beats = 1; beats <= 24; beats++)
            {
                failing.Failures = 1;
                time.Advance(UplinkLiveness.HeartbeatPeriod);
                Assert.Equal(beats, faults.Count);
            }

            Assert.Equal(SessionEndReason.Internal, broken.Uplink.End!.Reason);
            Assert.Equal(FrameType.Ping, (await sound.ReadAsync())!.Header.Type);
            Assert.Equal(FrameType.Ping, (await alsoSound.ReadAsync())!.Header.Type);
            await sound.CloseAsync();
            await alsoSound.CloseAsync();
        });

    private static RawPeer Make(
        TestEngine engine, TimeProvider time, UplinkHeartbeat heartbeat, int capacity = 100_000, Action<UplinkConnection>? onStall = null)
    {
        var peer = new RawPeer(
            engine, UplinkRole.Entry, new PairOptions { Capacity = capacity, Adjust = settings => settings with { TimeProvider = time } });
        peer.Uplink.StallObserver = onStall;
        heartbeat.Add(peer.Uplink);
        return peer;
    }
}
