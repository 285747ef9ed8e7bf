using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.Streams;

public class ResetTests
{
    private static readonly StreamId _first = new(0, 1);

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_stream_released_before_its_head_was_sent_costs_the_peer_nothing(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var pair = UplinkPair.Start(engine, Exchange.EchoAsync, new PairOptions { MaxStreams = 1 });
            for (var i = 0; i < 10; i++)
            {
                pair.Open().Release();
            }

            var stream = pair.Open();
            stream.Reset(StreamResetReason.Cancel);
            Assert.Equal(StreamSendStatus.LocalReset, stream.SendRequest("/"));
            stream.Release();
            await Exchange.RunAsync(engine, pair.Open(), 1, 1000, 100);
            Assert.Equal(1, pair.Accepted);
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_head_that_is_reset_while_it_waits_is_never_sent_and_its_credit_returns(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var pair = UplinkPair.Start(engine, Exchange.EchoAsync, new PairOptions { Capacity = 100 });
            pair.AgentTransport.Incoming.Stall();
            var blocker = pair.Open();
            blocker.SendRequest("/", new byte[1000], end: false, out _);
            await engine.UntilAsync(() => pair.EntryTransport.Outgoing.IsSendWaiting, "the transport is full");
            var outstanding = pair.Entry.Sending.OutstandingBytes;
            for (var i = 0; i < 10; i++)
            {
                var stream = pair.Open();
                Assert.Equal(StreamSendStatus.Sent, stream.SendRequest("/", new byte[5000]));
                Assert.Equal(outstanding + 5000, pair.Entry.Sending.OutstandingBytes);
                stream.Reset(StreamResetReason.Cancel);
                stream.Release();
                Assert.Equal(outstanding, pair.Entry.Sending.OutstandingBytes);
            }

            pair.AgentTransport.Incoming.Resume();
            await blocker.WriteAsync(default, end: true);
            await blocker.ReadHeadAsync();
            Assert.Equal(1000, (await blocker.ReadBodyAsync()).Length);
            blocker.Release();
            Assert.Equal(1, pair.Accepted);
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_whole_response_arrives_although_its_sender_wants_no_more_of_the_request(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                stream.SendResponse(413, "too large"u8, end: true, out _);
                stream.Release();
            });
            for (var i = 0; i < 200; i++)
            {
                var stream = pair.Open();
                var sending = engine.Start(
                    async () => Assert.Equal(StreamSendStatus.PeerReset, await stream.SendAllAsync("/", 0, 1, 2_000_000, 10_000)));
                Assert.Equal("413", await stream.ReadHeadAsync());
                var body = await stream.ReadBodyAsync();
                Assert.True(body.InOrder, $"Exchange {i}: {stream.Failure}");
                Assert.Equal(9, body.Length);
                await sending;
                stream.Release();
            }

            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_response_that_waits_for_its_turn_is_still_sent_after_the_release(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            TunnelStream? accepted = null;
            var peer = new RawPeer(engine, UplinkRole.Agent, new PairOptions { Capacity = 64 }, stream => accepted = stream);
            await peer.SendAsync(Frame.Request(_first, "begin"u8, end: false));
            await engine.UntilAsync(() => accepted is not null, "the stream was accepted");
            peer.Transport.Incoming.Stall();
            for (ulong i = 0; i < 8; i++)
            {
                // Answers fill the connection, so that the response has to wait.
                await peer.SendAsync(Frame.Ping(i));
            }

            await engine.UntilAsync(() => peer.UplinkTransport.Outgoing.IsSendWaiting, "the transport is full");
            Assert.NotNull(accepted);
            Assert.Equal("/", await accepted.ReadHeadAsync());
            accepted.SendResponse(200, "whole"u8, end: true, out _);
            accepted.Release();
            peer.Transport.Incoming.Resume();
            var head = await peer.ReadUntilAsync(FrameType.Headers);
            Assert.True(head.Header.EndsDirection);
            Assert.EndsWith("whole", System.Text.Encoding.ASCII.GetString(head.Payload), StringComparison.Ordinal);
            var rst = await peer.ReadUntilAsync(FrameType.Rst);
            Assert.Equal(StreamResetReason.None, ControlFrames.ReadRst(rst.Payload, out _));
            Assert.Equal(1, peer.Uplink.OpenStreams);
            await peer.SendAsync(Frame.Data(_first, "rest"u8), Frame.Rst(_first));
            await peer.SyncAsync();
            Assert.Equal(0, peer.Uplink.OpenStreams);
            Assert.Equal(0, peer.Uplink.ReceiveCredit.Held);
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline, 0)]
    [InlineData(EngineKind.Inline, 1)]
    [InlineData(EngineKind.Inline, 2)]
    [InlineData(EngineKind.Pool, 0)]
    [InlineData(EngineKind.Pool, 1)]
    [InlineData(EngineKind.Pool, 2)]
    public Task A_reset_by_the_agent_is_seen_behind_what_it_had_sent(EngineKind kind, int point) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            UplinkPair? pair = null;
            pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                if (point > 0)
                {
                    stream.SendResponse(200, default, end: false, out _);
                }

                if (point > 1)
                {
                    await stream.WriteAsync("part"u8.ToArray(), end: false);
                }

                await engine.UntilAsync(() => pair!.Agent.Statistics.FramesSent >= point, "what was said is sent");
                stream.Reset(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody);
                Assert.Equal(StreamFailureKind.LocalReset, stream.Failure.Kind);
                Assert.Equal(StreamSendStatus.LocalReset, await stream.WriteAsync(new byte[1], end: true));
                stream.Release();
            }, new PairOptions { StreamWindow = 20_000 });
            var stream = pair.Open();
            var told = new TaskCompletionSource<StreamId>();
            stream.NotifyReset((state, id) => ((TaskCompletionSource<StreamId>)state!).SetResult(id), told);
            var sending = engine.Start(() => stream.SendAllAsync("/", 0, 1, 100_000, 50_000));
            if (point > 0)
            {
                Assert.Equal("200", await stream.ReadHeadAsync());
            }

            var body = await stream.ReadBodyAsync();
            Assert.False(body.InOrder);
            Assert.Equal(point > 1 ? 4 : 0, body.Length);
            Assert.Equal(
                new StreamFailure(StreamFailureKind.PeerReset, StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody),
                stream.Failure);
            Assert.Equal(StreamSendStatus.PeerReset, await sending);
            Assert.Equal(stream.Id, await told.Task);
            stream.Release();
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline, false)]
    [InlineData(EngineKind.Pool, false)]
    [InlineData(EngineKind.Inline, true)]
    [InlineData(EngineKind.Pool, true)]
    public Task What_waits_in_the_queue_goes_before_a_reset_behind_it(EngineKind kind, bool endsBefore) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                stream.SendResponse(200, "first bytes"u8, end: false, out var taken);
                Assert.Equal(11, taken);
                stream.ResetAfterHead(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody);
                stream.Release();
            });
            for (var i = 0; i < 100; i++)
            {
                var stream = pair.Open();
                stream.SendRequest("/", default, end: endsBefore, out _);
                Assert.Equal("200", await stream.ReadHeadAsync());
                var body = await stream.ReadBodyAsync();
                Assert.Equal((11, false), (body.Length, body.InOrder));
                Assert.Equal(
                    new StreamFailure(StreamFailureKind.PeerReset, StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody),
                    stream.Failure);
                stream.Release();
            }

            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline, 0, false)]
    [InlineData(EngineKind.Inline, 1, false)]
    [InlineData(EngineKind.Inline, 2, false)]
    [InlineData(EngineKind.Inline, 0, true)]
    [InlineData(EngineKind.Inline, 1, true)]
    [InlineData(EngineKind.Pool, 0, false)]
    [InlineData(EngineKind.Pool, 1, false)]
    [InlineData(EngineKind.Pool, 2, false)]
    [InlineData(EngineKind.Pool, 0, true)]
    [InlineData(EngineKind.Pool, 1, true)]
    public Task A_visitor_that_leaves_is_seen_by_the_agent_at_every_step(
        EngineKind kind, int point, bool byRelease) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            // 0: the head is sent; 1: in mid-body; 2: a write waits for credit.
            var seen = new TaskCompletionSource<StreamFailure>();
            var arrived = new TaskCompletionSource();
            var pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                arrived.SetResult();
                while (await stream.WaitToReadAsync() && stream.TryRead(out var item) && item.Kind == StreamItemKind.Data && point == 1)
                {
                    stream.ConsumeData(item.Memory.Length);
                }

                await engine.UntilAsync(() => !stream.Failure.IsNone, "the reset is seen");
                Assert.Equal(StreamSendStatus.PeerReset, stream.SendResponse(200, default, end: true, out _));
                seen.SetResult(stream.Failure);
                stream.Release();
            }, new PairOptions { StreamWindow = 20_000 });
            var stream = pair.Open();
            stream.SendRequest("/", default, end: false, out _);
            await arrived.Task;
            var memory = new byte[30_000];
            var writing = Task.FromResult(StreamSendStatus.Sent);
            if (point == 1)
            {
                await stream.WriteAsync(memory.AsMemory(0, 10_000), end: false);
            }
            else if (point == 2)
            {
                writing = engine.Start(async () => await stream.WriteAsync(memory, end: false));
                await engine.UntilAsync(() => pair.Agent.ReceiveCredit.Held == 20_000, "the window is full");
            }

            if (!byRelease)
            {
                stream.Reset(StreamResetReason.Cancel);
                stream.Reset(StreamResetReason.Internal);
                Assert.Equal(point == 2 ? StreamSendStatus.LocalReset : StreamSendStatus.Sent, await writing);
                Assert.True(await stream.WaitToReadAsync());
                Assert.True(stream.TryRead(out var item));
                Assert.Equal(StreamItemKind.Failed, item.Kind);
            }

            stream.Release();
            Assert.Equal(new StreamFailure(StreamFailureKind.PeerReset, StreamResetReason.Cancel), await seen.Task);
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Resets_that_cross_free_the_slot_on_both_sides(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var pair = UplinkPair.Start(engine, async stream =>
        {
            await stream.ReadHeadAsync();
            await engine.YieldAsync(stream.Id.Generation % 7);
            stream.Reset(StreamResetReason.BackendTimeout);
            stream.Release();
        }, new PairOptions { MaxStreams = 1 });
        for (var i = 0; i < 500; i++)
        {
            TunnelStream? stream = null;
            await engine.UntilAsync(() => (stream = pair.Entry.TryOpenStream()) is not null, "the only slot is free");
            stream!.SendRequest("/", new byte[3000], end: i % 2 == 0, out _);
            await engine.YieldAsync(i % 11);
            stream!.Reset(StreamResetReason.Cancel);
            stream.Release();
        }

        await pair.FinishAsync();
    });
}
