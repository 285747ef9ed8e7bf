using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

public class UplinkWriterTests
{
    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Sixty_four_producers_at_once_tear_lose_double_and_misorder_no_frame(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            const int Producers = 64;
            var seed = Random.Shared.Next();
            var peer = new RawPeer(
                engine, UplinkRole.Entry, new PairOptions { StreamWindow = 1 << 24, UplinkWindow = 1 << 30, Capacity = 50_000 });
            var lengths = new int[Producers];
            var producers = Enumerable.Range(0, Producers).Select(i => engine.Start(async () =>
            {
                var random = new Random(seed + i);
                var stream = peer.Uplink.TryOpenStream();
                Assert.NotNull(stream);
                lengths[stream.Id.Slot] = random.Next(1, 200_000);
                Assert.Equal(StreamSendStatus.Sent, stream.SendRequest("/", default, end: false, out _));
                var buffer = new byte[40_000];
                for (var sent = 0; sent < lengths[stream.Id.Slot];)
                {
                    var count = Math.Min(
                        random.Next(4) == 0 ? random.Next(1, 40_000) : random.Next(1, 300), lengths[stream.Id.Slot] - sent);
                    Pattern.Fill(buffer.AsSpan(0, count), stream.Id.Slot, sent);
                    sent += count;
                    Assert.Equal(
                        StreamSendStatus.Sent, await stream.WriteAsync(buffer.AsMemory(0, count), end: sent == lengths[stream.Id.Slot]));
                    Array.Clear(buffer);
                }

                stream.Release();
            })).ToArray();
            var received = new int[Producers];
            var ended = 0;
            while (ended < Producers)
            {
                var frame = await peer.ReadAsync();
                Assert.NotNull(frame);
                var slot = frame.Header.Stream.Slot;
                if (frame.Header.Type == FrameType.Headers)
                {
                    Assert.Equal(0, received[slot]);
                    continue;
                }

                if (frame.Header.Type == FrameType.Rst)
                {
                    continue;
                }

                Assert.True(frame.Header.Type == FrameType.Data, $"Seed {seed}");
                Pattern.Check(frame.Payload, slot, received[slot]);
                received[slot] += frame.Payload.Length;
                ended += frame.Header.EndsDirection ? 1 : 0;
                Assert.True(!frame.Header.EndsDirection || received[slot] == lengths[slot], $"Seed {seed}");
            }

            await Task.WhenAll(producers);
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Interim_heads_that_wait_are_sent_however_much_they_are(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        TunnelStream? accepted = null;
        var peer = new RawPeer(engine, UplinkRole.Agent, new PairOptions { Capacity = 64 }, stream => accepted = stream);
        await peer.SendAsync(Frame.Request(new StreamId(0, 1)));
        await engine.UntilAsync(() => accepted is not null, "the stream was accepted");
        Assert.NotNull(accepted);
        peer.Transport.Incoming.Stall();
        for (ulong i = 0; i < 8; i++)
        {
            await peer.SendAsync(Frame.Ping(i));
        }

        await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
        var value = new string('v', 60_000);
        for (var i = 0; i < 6; i++)
        {
            accepted.SendResponse(103, default, end: false, out _, value);
        }

        accepted.SendResponse(200, "body"u8, end: true, out _);
        peer.Transport.Incoming.Resume();
        for (var i = 0; i < 7; i++)
        {
            var frame = await peer.ReadUntilAsync(FrameType.Headers);
            Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(frame.Payload, out var block, out var body));
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(block, out var head));
            Assert.Equal(i < 6 ? 103 : 200, head.Status);
            Assert.Equal(i < 6 ? 0 : 4, body.Length);
            Assert.Equal(i == 6, frame.Header.EndsDirection);
        }

        accepted.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task The_largest_head_with_the_largest_body_fits(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        TunnelStream? accepted = null;
        var peer = new RawPeer(engine, UplinkRole.Agent, new PairOptions { Capacity = 5000 }, stream => accepted = stream);
        await peer.SendAsync(Frame.Request(new StreamId(0, 1)));
        await engine.UntilAsync(() => accepted is not null, "the stream was accepted");
        Assert.NotNull(accepted);
        accepted.SendResponse(200, new byte[20_000], end: true, out var taken, new string('v', 65_000));
        Assert.Equal(ProtocolLimits.MaxDataLength, taken);
        var rest = engine.Start(async () => await accepted.WriteAsync(new byte[20_000 - taken], end: true));
        var frame = await peer.ReadUntilAsync(FrameType.Headers);
        Assert.InRange(frame.Payload.Length, 65_000 + 16_384, ProtocolLimits.MaxHeadersLength);
        Assert.False(frame.Header.EndsDirection);
        Assert.True((await peer.ReadUntilAsync(FrameType.Data)).Header.EndsDirection);
        Assert.Equal(StreamSendStatus.Sent, await rest);
        accepted.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Short_streams_beside_an_endless_one_finish_within_a_bounded_number_of_frames(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(
                engine, UplinkRole.Entry, new PairOptions { StreamWindow = 1 << 30, UplinkWindow = 1 << 30, Capacity = 64 * 1024 });
            var endless = peer.Uplink.TryOpenStream();
            Assert.NotNull(endless);
            var bulk = engine.Start(async () =>
            {
                endless.SendRequest("/", default, end: false, out _);
                var chunk = new byte[256 * 1024];
                while (await endless.WriteAsync(chunk, end: false) == StreamSendStatus.Sent)
                {
                    // Until the uplink ends.
                }
            });
            while (peer.Transport.Incoming.Received < 4_000_000)
            {
                Assert.NotNull(await peer.ReadAsync());
            }

            var asked = 0;
            var shorts = Enumerable.Range(0, 100).Select(i => engine.Start(async () =>
            {
                var stream = peer.Uplink.TryOpenStream();
                Assert.NotNull(stream);
                stream.SendRequest("/", new byte[1000]);
                Interlocked.Increment(ref asked);
                await stream.WaitToReadAsync();
                stream.Release();
            })).ToArray();
            await engine.UntilAsync(() => Volatile.Read(ref asked) == 100, "the short requests wait for their turn");
            var (young, old) = (0, 0);
            while (young < 100)
            {
                var frame = await peer.ReadAsync();
                Assert.NotNull(frame);
                young += frame.Header.Type == FrameType.Headers ? 1 : 0;
                old += frame.Header.Type == FrameType.Data ? 1 : 0;
            }

            // What was in the batch and the connection already, and one old frame for three young ones.
            const int UnderWay = ((2 * UplinkWriter.BatchSize) + (64 * 1024)) / ProtocolLimits.MaxDataLength;
            Assert.InRange(old, 0, UnderWay + (100 / 3) + 1);
            peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
            await bulk;
            await Task.WhenAll(shorts);
            endless.Release();
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_old_stream_keeps_a_quarter_of_the_turns_beside_any_young_ones(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(
                engine,
                UplinkRole.Entry,
                new PairOptions { StreamWindow = 1 << 30, UplinkWindow = 1 << 30, Capacity = 32 * 1024, MaxStreams = 60_000 });
            peer.Transport.Incoming.Stall();
            var old = peer.Uplink.TryOpenStream();
            Assert.NotNull(old);
            old.SendRequest("/", default, end: false, out _);
            var writing = engine.Start(async () => await old.WriteAsync(new byte[8_000_000], end: true));
            await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
            var young = new List<TunnelStream>();
            for (var i = 0; i < 1000; i++)
            {
                var stream = peer.Uplink.TryOpenStream();
                Assert.NotNull(stream);
                stream.SendRequest("/", new byte[50]);
                young.Add(stream);
            }

            peer.Transport.Incoming.Resume();
            var order = new List<bool>();
            for (var heads = 0; heads < 1001;)
            {
                var frame = await peer.ReadAsync();
                Assert.NotNull(frame);
                heads += frame.Header.Type == FrameType.Headers ? 1 : 0;
                order.Add(frame.Header.Type == FrameType.Data);
            }

            var contested = order.SkipWhile(isOld => isOld).Skip(100).SkipLast(100).ToList();
            Assert.InRange(contested.Count(isOld => isOld), contested.Count / 4 * 9 / 10, contested.Count / 2);
            peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
            await writing;
            young.ForEach(stream => stream.Release());
            old.Release();
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Frames_gather_while_a_send_is_slow(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Capacity = 1000 });
        peer.Transport.Incoming.Stall();
        var streams = new List<TunnelStream>();
        for (var i = 0; i < 500; i++)
        {
            var stream = peer.Uplink.TryOpenStream();
            Assert.NotNull(stream);
            stream.SendRequest("/", new byte[100]);
            streams.Add(stream);
        }

        peer.Transport.Incoming.Resume();
        for (var i = 0; i < 500; i++)
        {
            Assert.Equal(FrameType.Headers, (await peer.ReadAsync())!.Header.Type);
        }

        var statistics = peer.Uplink.Statistics;
        Assert.Equal(500, statistics.FramesSent);
        Assert.InRange(statistics.Flushes, 1, 60);
        streams.ForEach(stream => stream.Release());
        await peer.CloseAsync();
    });

    [Fact]
    public Task A_small_frame_of_an_idle_uplink_is_on_the_wire_when_the_call_returns() => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Entry);
            var sends = 0;
            peer.UplinkTransport.OnSend = _ => sends++;
            var first = peer.Uplink.TryOpenStream();
            first!.SendRequest("/", "a"u8);
            Assert.Equal(1, sends);
            var second = peer.Uplink.TryOpenStream();
            second!.SendRequest("/", "b"u8);
            Assert.Equal(2, sends);

            // With more streams than are quiet the loop waits for its turn, so that the others of this round can join.
            var third = peer.Uplink.TryOpenStream();
            var fourth = peer.Uplink.TryOpenStream();
            third!.SendRequest("/", "c"u8);
            fourth!.SendRequest("/", "d"u8);
            Assert.Equal(2, sends);
            await engine.YieldAsync();
            Assert.Equal(3, sends);
            Assert.Equal(4, peer.Uplink.Statistics.FramesSent);
            foreach (var stream in new[] { first, second, third, fourth })
            {
                stream!.Release();
            }

            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_idle_uplink_holds_no_buffer(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var time = new ManualTimeProvider();
        var pair = UplinkPair.Start(
            engine, Exchange.EchoAsync, new PairOptions { Adjust = settings => settings with { TimeProvider = time } });
        await engine.UntilAsync(() => pair.EntryTransport.Receives == 1 && pair.AgentTransport.Receives == 1, "both readers wait");
        Assert.Equal(0, pair.EntryBuffers.Outstanding + pair.AgentBuffers.Outstanding);
        await Task.WhenAll(
            Enumerable.Range(0, 20).Select(i => engine.Start(() => Exchange.RunAsync(engine, pair.Open(), i, 200_000, 30_000))));

        // Credit that comes after the last answer is no silence: it must not be read after the clock was moved.
        await pair.UntilSettledAsync();
        await engine.UntilAsync(
            () => pair.EntryBuffers.Outstanding == 1 && pair.AgentBuffers.Outstanding == 1, "only the readers' buffers are out");

        // What comes after a silence ends a wait that had a buffer; the next wait has none.
        time.Advance(TimeSpan.FromSeconds(6));
        pair.Entry.OnHeartbeat();
        await engine.UntilAsync(() => pair.EntryBuffers.Outstanding == 0 && pair.AgentBuffers.Outstanding == 0, "no buffer is out");
        await Exchange.RunAsync(engine, pair.Open(), 1, 200_000, 30_000);
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Bulk_streams_take_turns_frame_by_frame(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(
            engine, UplinkRole.Entry, new PairOptions { StreamWindow = 1 << 30, UplinkWindow = 1 << 30, Capacity = 32 * 1024 });
        peer.Transport.Incoming.Stall();
        var streams = Enumerable.Range(0, 3).Select(_ => peer.Uplink.TryOpenStream()!).ToArray();
        Array.ForEach(streams, stream => stream.SendRequest("/", default, end: false, out _));
        var begun = 0;
        var writing = streams.Select(stream => engine.Start(async () =>
        {
            var write = stream.WriteAsync(new byte[4_000_000], end: true);
            Interlocked.Increment(ref begun);
            await write;
        })).ToArray();
        await engine.UntilAsync(() => Volatile.Read(ref begun) == 3, "all three want to send");
        await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
        peer.Transport.Incoming.Resume();
        var order = new List<int>();
        while (order.Count < 400)
        {
            var frame = await peer.ReadUntilAsync(FrameType.Data);
            order.Add(frame.Header.Stream.Slot);
        }

        // What the first had sent before the others came is after it; all three are old by then, and no one goes twice in a row.
        Assert.All(order.Skip(100).Chunk(3).SkipLast(1), turn => Assert.Equal(3, turn.Distinct().Count()));
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await Task.WhenAll(writing);
        Array.ForEach(streams, stream => stream.Release());
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Control_frames_go_before_every_frame_that_waits_for_its_turn(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(
            engine, UplinkRole.Entry, new PairOptions { StreamWindow = 1 << 30, UplinkWindow = 1 << 30, Capacity = 32 * 1024 });
        peer.Transport.Incoming.Stall();
        var stream = peer.Uplink.TryOpenStream()!;
        stream.SendRequest("/", default, end: false, out _);
        var writing = engine.Start(async () => await stream.WriteAsync(new byte[8_000_000], end: true));
        await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
        var received = peer.Uplink.Statistics.FramesReceived;
        await peer.SendAsync(Frame.Ping(77));
        await engine.UntilAsync(() => peer.Uplink.Statistics.FramesReceived > received, "the PING was read");
        peer.Transport.Incoming.Resume();
        var before = 0;
        while ((await peer.ReadAsync())!.Header.Type != FrameType.Ping)
        {
            before++;
        }

        // Only the batch that was on its way already.
        Assert.InRange(before, 1, (UplinkWriter.BatchSize / ProtocolLimits.MaxDataLength) + 1);
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await writing;
        stream.Release();
        await peer.CloseAsync();
    });

    [Fact]
    public Task Batches_shrink_while_sends_are_slow_and_grow_again() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var time = new ManualTimeProvider();
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions
        {
            StreamWindow = 1 << 30,
            UplinkWindow = 1 << 30,
            Capacity = 4096,
            Adjust = settings => settings with { TimeProvider = time },
        });
        var batches = new List<int>();
        peer.UplinkTransport.OnSend = bytes => batches.Add(bytes.Length);
        var stream = peer.Uplink.TryOpenStream()!;
        stream.SendRequest("/", default, end: false, out _);
        var writing = engine.Start(async () => await stream.WriteAsync(new byte[8_000_000], end: true));
        for (var slow = 6; slow >= -6; slow--)
        {
            time.Advance(TimeSpan.FromMilliseconds(slow > 0 ? 6 : 1));
            for (var seen = batches.Count; batches.Count == seen;)
            {
                await peer.ReadUntilAsync(FrameType.Data);
            }
        }

        const int Frame = ProtocolLimits.MaxDataLength + FrameHeader.Size;
        Assert.InRange(batches.Min(), 1, 2 * Frame);
        Assert.Equal([2 * Frame, 2 * Frame], batches.Skip(5).Take(2));
        Assert.InRange(batches[^1], UplinkWriter.BatchSize - Frame, UplinkWriter.BatchSize);
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await writing;
        stream.Release();
        await peer.CloseAsync();
    });

    [Fact]
    public Task Every_flush_is_counted_in_the_bucket_of_its_size() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Capacity = 1 << 20 });
        var stream = peer.Uplink.TryOpenStream()!;
        stream.SendRequest("/", default, end: false, out _);
        Assert.Equal([1, 0, 0, 0, 0, 0, 0], peer.Uplink.Statistics.FlushSizes.ToArray());
        foreach (var size in new[] { 248, 249, 1016, 1017, 16_376, 16_377, 180_000 })
        {
            await stream.WriteAsync(new byte[size], end: false);
        }

        Assert.Equal([2, 2, 1, 1, 1, 0, 1], peer.Uplink.Statistics.FlushSizes.ToArray());
        var (statistics, streams) = (peer.Uplink.Statistics, peer.Uplink.Streams);
        Assert.Equal((8, 1, 1), (statistics.Flushes, streams.Table.Opened, streams.Table.Count));
        Assert.Equal((0, 215_283, 0), (statistics.SendingBytes, streams.Sending.OutstandingBytes, streams.CreditWaits));
        stream.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Streams_opened_from_many_threads_are_all_counted(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var pair = UplinkPair.Start(engine, Exchange.EchoAsync);
        await Task.WhenAll(Enumerable.Range(0, 16).Select(i => engine.Start(async () =>
        {
            for (var j = 0; j < 50; j++)
            {
                await Exchange.RunAsync(engine, pair.Open(), i, 10, 10);
            }
        })));
        Assert.Equal(800, pair.Entry.Streams.Table.Opened);
        Assert.Equal(800, pair.Agent.Streams.Table.Opened);
        await pair.FinishAsync();
    });

    [Fact]
    public Task A_wait_for_credit_is_counted_once() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { StreamWindow = 20_000 });
        var stream = peer.Uplink.TryOpenStream()!;
        stream.SendRequest("/", default, end: false, out _);
        var writing = stream.WriteAsync(new byte[25_000], end: false);
        await engine.YieldAsync(5);
        Assert.Equal(1, peer.Uplink.Streams.CreditWaits);
        await peer.SendAsync(Frame.Window(stream.Id, 5000));
        Assert.Equal(StreamSendStatus.Sent, await writing);
        Assert.Equal(1, peer.Uplink.Streams.CreditWaits);
        var second = stream.WriteAsync(new byte[1], end: false);
        Assert.Equal(2, peer.Uplink.Streams.CreditWaits);
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        Assert.Equal(StreamSendStatus.UplinkLost, await second);
        stream.Release();
        await peer.CloseAsync();
    });
}
