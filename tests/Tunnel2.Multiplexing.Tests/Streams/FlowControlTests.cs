using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.Streams;

public class FlowControlTests
{
    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_consumer_that_stalls_holds_a_window_and_no_other_up(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        const int Window = 128 * 1024;
        var proceed = new TaskCompletionSource();
        var pair = UplinkPair.Start(engine, async stream =>
        {
            if (await stream.ReadHeadAsync() == "/stalled")
            {
                await proceed.Task;
                Assert.Equal(5_000_000, (await stream.ReadBodyAsync(seed: 0, keep: false)).Length);
                stream.SendResponse(204, default, end: true, out _);
                stream.Release();
                return;
            }

            stream.SendResponse(200, "quick"u8, end: true, out _);
            stream.Release();
        }, new PairOptions { StreamWindow = Window });
        var stalled = pair.Open();
        var sending = engine.Start(
            async () => Assert.Equal(StreamSendStatus.Sent, await stalled.SendAllAsync("/stalled", 0, 0, 5_000_000, 50_000)));
        await engine.UntilAsync(() => pair.Agent.ReceiveCredit.Held == Window, "the window is full");
        for (var i = 0; i < 200; i++)
        {
            var stream = pair.Open();
            stream.SendRequest("/quick");
            Assert.Equal("200", await stream.ReadHeadAsync());
            Assert.Equal(5, (await stream.ReadBodyAsync()).Length);
            stream.Release();
        }

        Assert.Equal(Window, pair.Agent.ReceiveCredit.Held);
        // Gathered in segments of 64 KiB after a smaller first one; beside them the head, the loops of reader and writer, and one answer.
        Assert.InRange(pair.AgentBuffers.Outstanding, Window / (64 * 1024), (Window / (64 * 1024)) + 1 + 4);
        Assert.Equal(Window, pair.Entry.Sending.OutstandingBytes - pair.Agent.ReceiveCredit.Returnable);
        Assert.False(sending.IsCompleted);
        proceed.SetResult();
        await sending;
        Assert.Equal("204", await stalled.ReadHeadAsync());
        stalled.Release();
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline, true)]
    [InlineData(EngineKind.Pool, true)]
    [InlineData(EngineKind.Inline, false)]
    [InlineData(EngineKind.Pool, false)]
    public Task Who_waits_for_room_gets_it_with_credit_or_hears_that_there_will_be_none(EngineKind kind, bool consumes) =>
        TestEngine.RunAsync(kind, async engine =>
        {
            const int Window = 64 * 1024;
            var proceed = new TaskCompletionSource();
            var pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                await proceed.Task;
                if (consumes)
                {
                    await stream.ReadBodyAsync(keep: false);
                }

                stream.SendResponse(204, default, end: true, out _);
                stream.Release();
            }, new PairOptions { StreamWindow = Window });
            var stream = pair.Open();
            Assert.Equal(StreamSendStatus.Sent, stream.SendRequest("/", default, end: false, out _));
            Assert.Equal(StreamSendStatus.Sent, await stream.WaitForRoomAsync());
            Assert.Equal(StreamSendStatus.Sent, await stream.WriteAsync(new byte[Window], end: false));
            Assert.Equal(0, stream.SendRoom);
            var room = stream.WaitForRoomAsync().AsTask();
            await engine.YieldAsync(100);
            Assert.False(room.IsCompleted);
            proceed.SetResult();
            Assert.Equal(consumes ? StreamSendStatus.Sent : StreamSendStatus.PeerReset, await room);
            Assert.Equal(consumes, stream.SendRoom > 0);
            Assert.Equal(consumes ? StreamSendStatus.Sent : StreamSendStatus.PeerReset, await stream.WriteAsync(default, end: true));
            Assert.Equal("204", await stream.ReadHeadAsync());
            stream.Release();
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_transport_that_stalls_makes_producers_wait_and_nothing_grow(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var pair = UplinkPair.Start(engine, Exchange.EchoAsync, new PairOptions { Capacity = 10_000 });
        pair.AgentTransport.Incoming.Stall();
        var exchanges = Enumerable.Range(0, 50)
            .Select(i => engine.Start(() => Exchange.RunAsync(engine, pair.Open(), i, 100_000, 20_000)))
            .ToArray();
        await engine.UntilAsync(() => pair.EntryTransport.Outgoing.IsSendWaiting, "the transport is full");
        await engine.YieldAsync(2000);
        var frames = pair.Entry.Statistics.FramesSent;
        Assert.InRange(pair.EntryBuffers.Outstanding, 1, 50 + 4);
        Assert.InRange(pair.Entry.Statistics.BytesSent, 1, 2 * UplinkWriter.BatchSize);
        await engine.YieldAsync(2000);
        Assert.Equal(frames, pair.Entry.Statistics.FramesSent);
        Assert.DoesNotContain(exchanges, exchange => exchange.IsCompleted);
        pair.AgentTransport.Incoming.Resume();
        await Task.WhenAll(exchanges);
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Pings_are_answered_until_the_connection_is_full(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Capacity = 400_000 });
        var stream = peer.Uplink.TryOpenStream();
        Assert.NotNull(stream);
        var sending = engine.Start(() => stream.SendAllAsync("/", 0, 1, 3_000_000, 30_000));
        var before = await peer.SyncAsync(42);
        Assert.True(
            before.Sum(frame => frame.Payload.Length) <= 256 * 1024 + 100, "The stream's credit is all that may come before the answer.");
        Assert.False(sending.IsCompleted);
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        Assert.Equal(StreamSendStatus.UplinkLost, await sending.WaitAsync(TimeSpan.FromSeconds(10)));
        stream.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Streams_that_starve_for_the_uplinks_credit_wake_again(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var proceed = new TaskCompletionSource();
        var pair = UplinkPair.Start(engine, async stream =>
        {
            var number = int.Parse((await stream.ReadHeadAsync())[1..], System.Globalization.CultureInfo.InvariantCulture);
            await proceed.Task;
            Assert.Equal(30_000, (await stream.ReadBodyAsync(number, keep: false, step: 777)).Length);
            stream.SendResponse(204, default, end: true, out _);
            stream.Release();
        }, new PairOptions { StreamWindow = 20_000, UplinkWindow = 50_000 });
        var exchanges = Enumerable.Range(0, 30).Select(i => engine.Start(async () =>
        {
            var stream = pair.Open();
            Assert.Equal(StreamSendStatus.Sent, await stream.SendAllAsync($"/{i}", 0, i, 30_000, 30_000));
            Assert.Equal("204", await stream.ReadHeadAsync());
            stream.Release();
        })).ToArray();
        await engine.UntilAsync(() => pair.Agent.ReceiveCredit.Granted == 0, "the uplink's credit is used up");
        await engine.UntilAsync(() => pair.Accepted == 30, "heads need no credit");
        proceed.SetResult();
        await Task.WhenAll(exchanges);
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Streams_that_starve_and_leave_are_forgotten(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { StreamWindow = 20_000, UplinkWindow = 20_000 });
        var hog = peer.Uplink.TryOpenStream();
        Assert.NotNull(hog);
        hog.SendRequest("/", new byte[16_000], end: false, out _);
        var hogging = hog.WriteAsync(new byte[10_000], end: false);
        await engine.UntilAsync(() => peer.Uplink.Sending.OutstandingBytes == 20_000, "the uplink's credit is used up");
        var most = 0;
        for (var i = 0; i < 2000; i++)
        {
            var stream = peer.Uplink.TryOpenStream();
            Assert.NotNull(stream);
            stream.SendRequest("/", "x"u8, end: false, out var taken);
            Assert.Equal(0, taken);
            var starving = engine.Start(
                async () => Assert.Equal(StreamSendStatus.LocalReset, await stream.WriteAsync("x"u8.ToArray(), end: true)));
            var id = stream.Id;
            var frame = await peer.ReadUntilAsync(FrameType.Headers);
            if (i == 0)
            {
                frame = await peer.ReadUntilAsync(FrameType.Headers);
            }

            Assert.Equal(id, frame.Header.Stream);
            await engine.YieldAsync(3);
            stream.Reset(StreamResetReason.Cancel);
            await starving;
            stream.Release();
            await peer.ReadUntilAsync(FrameType.Rst);
            await peer.SendAsync(Frame.Rst(id));
            await engine.UntilAsync(() => peer.Uplink.OpenStreams == 1, "the stream is over");
            most = Math.Max(most, peer.Uplink.Sending.StarvingStreams);
        }

        Assert.InRange(most, 1, 8);
        await peer.SendAsync(Frame.Window(StreamId.Uplink, 20_000));
        Assert.Equal(StreamSendStatus.PeerReset, await ResetByPeerAsync(peer, hog, hogging));
        hog.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Credit_is_used_down_to_one_byte(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { StreamWindow = 100 });
        var stream = peer.Uplink.TryOpenStream();
        Assert.NotNull(stream);
        var sending = engine.Start(() => stream.SendAllAsync("/", 0, 4, 300, 300));
        var head = await peer.ReadUntilAsync(FrameType.Headers);
        Assert.False(head.Header.EndsDirection);
        Pattern.Check(head.Payload.AsSpan(head.Payload.Length - 100), 4, 0);
        for (var i = 100; i < 300; i++)
        {
            await peer.SendAsync(Frame.Window(stream.Id, 1));
            var data = await peer.ReadUntilAsync(FrameType.Data);
            Assert.Single(data.Payload);
            Pattern.Check(data.Payload, 4, i);
            Assert.Equal(i == 299, data.Header.EndsDirection);
        }

        Assert.Equal(StreamSendStatus.Sent, await sending);
        stream.Release();
        await peer.CloseAsync();
    });

    private static async Task<StreamSendStatus> ResetByPeerAsync(RawPeer peer, TunnelStream stream, ValueTask<StreamSendStatus> writing)
    {
        await peer.SendAsync(Frame.Rst(stream.Id));
        var status = await writing;
        return status == StreamSendStatus.Sent ? await stream.WriteAsync(new byte[50_000], end: true) : status;
    }
}
