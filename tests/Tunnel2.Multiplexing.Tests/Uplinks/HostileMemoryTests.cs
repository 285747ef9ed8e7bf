using System.Collections.Concurrent;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

/// <summary>What an agent's memory holds for a server that means harm: many streams, large heads, and answers that are not taken.</summary>
public class HostileMemoryTests
{
    private const int Limit = 1024 * 1024;

    /// <summary>The writer's batch, and the reader's buffer.</summary>
    private const int HeldByLoops = 512 * 1024;

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Large_heads_of_requests_that_wait_hold_half_of_the_budget_and_one_more_is_refused(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var accepted = new ConcurrentQueue<TunnelStream>();
            using var budget = new ReceiveBudget(Limit, new ManualTimeProvider());
            var peer = new RawPeer(engine, UplinkRole.Agent, new PairOptions { ReceiveBudget = budget }, accepted.Enqueue);
            var target = "/" + new string('a', 60_000);
            for (var i = 0; i < 100; i++)
            {
                await peer.SendAsync(Frame.Request(new StreamId(i, 1), target: target));
            }

            // The first answer may come before resets that leave with it.
            List<RawFrame> frames = [.. await peer.SyncAsync(1), .. await peer.SyncAsync(2)];
            var refused = frames.FindAll(static frame => frame.Header.Type == FrameType.Rst);
            await engine.UntilAsync(() => accepted.Count == 8, "eight have room: each has a buffer of 64 KiB");
            Assert.Equal(92, refused.Count);
            Assert.All(refused, static frame => Assert.Equal(
                (StreamResetReason.Refused, StreamResetDetail.TooManyStreams), (ControlFrames.ReadRst(frame.Payload, out var why), why)));
            Assert.Equal(Limit / 2, budget.HeldHeads);
            Assert.InRange(HeldBy(peer.Buffers), Limit / 2, Limit);

            // Small heads are as many as there are streams, and count for nothing. A large one that was read makes room.
            await peer.SendAsync(Frame.Request(new StreamId(100, 1), target: "/" + new string('a', 4_000)));
            await engine.UntilAsync(() => accepted.Count == 9, "a small one is served");
            Assert.True(accepted.TryDequeue(out var first));
            Assert.Equal(target, await first.ReadHeadAsync());
            Assert.Equal((Limit / 2) - (64 * 1024), budget.HeldHeads);
            await peer.SendAsync(Frame.Request(new StreamId(101, 1), target: target));
            await engine.UntilAsync(() => accepted.Count == 9, "another large one is served");
            first.Release();
            Assert.Equal(Limit / 2, budget.HeldHeads);
            foreach (var stream in accepted)
            {
                stream.Release();
            }

            Assert.Equal(0, budget.HeldHeads);
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_answer_without_credit_for_its_body_holds_no_room_for_the_body(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var (peer, answered) = await AnswerAsync(engine, streams: 200, credit: 64 * 1024, capacity: 64);
            Assert.Equal(64 * 1024, answered.Sum(static answer => answer.Taken));
            Assert.InRange(HeldBy(peer.Buffers), 1, HeldByLoops + (4 * 32 * 1024) + (200 * 1024));
            await CloseAsync(peer, answered);
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task However_much_credit_there_is_bodies_that_wait_with_their_heads_have_a_bound(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            const int Most = SendQueue.MostWithHeads;
            var (peer, answered) = await AnswerAsync(engine, streams: 3_000, credit: int.MaxValue, capacity: 64 * 1024);
            var taken = answered.Sum(static answer => (long)answer.Taken);
            Assert.InRange(taken, Most, Most + (512 * 1024));

            // What was dropped, and what was sent, makes room again.
            foreach (var (stream, _) in answered.Skip(100).Take(100))
            {
                stream.Reset(StreamResetReason.Cancel);
            }

            peer.Transport.Incoming.Resume();
            Assert.True(peer.Uplink.Streams.Sending.WaitingWithHeads < Most);
            while (peer.Uplink.Streams.Sending.WaitingWithHeads > 0)
            {
                await peer.SyncAsync();
            }

            await CloseAsync(peer, answered);
        });

    private static long HeldBy(BufferPool buffers) =>
        buffers.OutstandingBySize.Sum(static size => size.Count * (long)(size.Size == 0 ? 256 * 1024 : size.Size));

    /// <summary>Asks for many answers and takes none of them.</summary>
    private static async Task<(RawPeer Peer, List<(TunnelStream Stream, int Taken)> Answered)> AnswerAsync(
        TestEngine engine, int streams, int credit, int capacity)
    {
        var accepted = new ConcurrentQueue<TunnelStream>();
        var peer = new RawPeer(
            engine,
            UplinkRole.Agent,
            new PairOptions { Capacity = capacity, Adjust = settings => settings with { SendUplinkWindow = credit } },
            accepted.Enqueue);
        peer.Transport.Incoming.Stall();
        for (var i = 0; i < streams; i++)
        {
            await peer.SendAsync(Frame.Request(new StreamId(i, 1)));
        }

        await engine.UntilAsync(() => accepted.Count == streams, "all requests have come");
        var body = new byte[16 * 1024];
        var answered = new List<(TunnelStream, int)>();
        foreach (var stream in accepted)
        {
            await stream.ReadHeadAsync();
            Assert.Equal(StreamSendStatus.Sent, stream.SendResponse(200, body, end: true, out var taken));
            answered.Add((stream, taken));
        }

        return (peer, answered);
    }

    private static async Task CloseAsync(RawPeer peer, List<(TunnelStream Stream, int Taken)> answered)
    {
        foreach (var (stream, _) in answered)
        {
            stream.Release();
        }

        peer.Transport.Incoming.Resume();
        await peer.CloseAsync();
    }
}
