using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

public class HostilePeerTests
{
    private static readonly StreamId _first = new(0, 1);

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Pings_whose_answers_are_not_read_end_the_session_beyond_64(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Agent, new PairOptions { Capacity = 64 });
        peer.Transport.Incoming.Stall();
        ulong sent = 0;
        while (peer.Uplink.End is null)
        {
            Assert.True(sent < 200, "A flood of pings must end.");
            await peer.SendAsync(Frame.Ping(++sent));
            await engine.YieldAsync(3);
        }

        Assert.Equal(SessionEndReason.ControlQueueOverflow, peer.Uplink.End.Reason);
        Assert.InRange(sent, 65ul, 90ul);
        peer.Transport.Incoming.Resume();
        var goAway = (await peer.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.ControlQueueOverflow, ""), goAway);
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Every_ping_is_answered_once_with_its_own_bytes(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Agent);
        peer.UplinkTransport.Incoming.Tear(new Random(5));
        for (ulong round = 0; round < 20; round++)
        {
            await peer.SendAsync([.. Enumerable.Range(0, 60).Select(i => Frame.Ping((round * 60) + (ulong)i))]);
            for (ulong i = 0; i < 60; i++)
            {
                var answer = await peer.ReadAsync();
                Assert.NotNull(answer);
                Assert.Equal(FrameFlags.Ack, answer.Header.Flags);
                Assert.Equal((round * 60) + i, ControlFrames.ReadPing(answer.Payload));
            }
        }

        await peer.SendAsync(Frame.Ping(77, ack: true));
        Assert.Empty(await peer.SyncAsync());
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_flood_of_interim_heads_ends_the_session(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry);
        var stream = Ask(peer);
        for (var i = 0; i < UnreadHeads.MaxUnread; i++)
        {
            await peer.SendAsync(Frame.Response(_first, 103, end: false));
        }

        await peer.SyncAsync();
        Assert.Equal("103", await stream.ReadHeadAsync());
        await peer.SendAsync(Frame.Response(_first, 103, end: false));
        await peer.SyncAsync();
        await peer.SendAsync(Frame.Response(_first, 103, end: false));
        await ExpectEndAsync(peer, ProtocolError.UnexpectedHeaderBlock);
        stream.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_window_sent_one_byte_at_a_time_costs_no_more_memory_than_one_sent_whole(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { StreamWindow = 65_536 });
            var stream = Ask(peer);
            await peer.SendAsync(Frame.Response(_first, 200, end: false));
            for (var i = 0; i < 65_536; i += 512)
            {
                await peer.SendAsync([.. Enumerable.Repeat(Frame.Data(_first, "x"u8), 512)]);
            }

            await peer.SyncAsync();
            Assert.InRange(peer.Buffers.Outstanding, 1, 12);
            await peer.SendAsync(Frame.Data(_first, "x"u8));
            await ExpectEndAsync(peer, ProtocolError.StreamCreditOverrun);
            stream.Release();
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Frames_of_earlier_generations_are_dropped_and_their_credit_returns(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(
                engine, UplinkRole.Entry, new PairOptions { UplinkWindow = 65_536, StreamWindow = 65_536, MaxStreams = 1 });
            var first = Ask(peer);
            await peer.ReadUntilAsync(FrameType.Headers);
            await peer.SendAsync(Frame.Response(_first, 204));
            Assert.Equal("204", await first.ReadHeadAsync());
            await first.ReadBodyAsync();
            first.Release();
            var second = Ask(peer);
            Assert.Equal(new StreamId(0, 2), second.Id);
            var dropped = 0;
            var returned = 0;
            for (var i = 0; i <= 40; i++)
            {
                if (i < 40)
                {
                    await peer.SendAsync(
                        Frame.Data(_first, new byte[10_000]),
                        Frame.Response(_first, 200, new byte[1000]),
                        Frame.Window(_first, 1),
                        Frame.Rst(_first),
                        Frame.Data(_first, [], end: true));
                    dropped += 11_000;
                }

                foreach (var frame in await peer.SyncAsync())
                {
                    if (frame.Header.Type == FrameType.Window)
                    {
                        Assert.True(frame.Header.Stream.IsUplink);
                        returned += System.Buffers.Binary.BinaryPrimitives.ReadInt32BigEndian(frame.Payload);
                    }
                }
            }

            var credit = peer.Uplink.ReceiveCredit;
            Assert.Equal(0, credit.Held);
            Assert.Equal(dropped, returned + credit.Returnable);
            await peer.SendAsync(Frame.Response(second.Id, 200, "fine"u8));
            Assert.Equal("200", await second.ReadHeadAsync());
            Assert.Equal(4, (await second.ReadBodyAsync()).Length);
            second.Release();
            await peer.CloseAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Unknown_frames_are_skipped_however_they_are_cut(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var random = new Random(9);
        var peer = new RawPeer(engine, UplinkRole.Entry);
        peer.UplinkTransport.Incoming.Tear(random);
        var stream = Ask(peer);
        await peer.SendAsync(Frame.Response(_first, 200, end: false));
        for (var i = 0; i < 200; i++)
        {
            var type = (FrameType)random.Next((int)FrameType.Nodes + 1, 32);
            var flags = (FrameFlags)(random.Next(4) * 0x20);
            await peer.SendAsync(
                Frame.Make(type, flags, new StreamId((uint)random.Next()), Pattern.Make(i, i % 3 == 0 ? 16_384 : random.Next(100))),
                Frame.Data(_first, Pattern.Make(3, 10 * (i + 1)).AsSpan(10 * i)));
        }

        await peer.SendAsync(Frame.Data(_first, [], end: true));
        Assert.Equal("200", await stream.ReadHeadAsync());
        Assert.Equal(2000, (await stream.ReadBodyAsync(seed: 3)).Length);
        stream.Release();
        await peer.CloseAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Another_session_of_the_process_is_unharmed(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var pair = UplinkPair.Start(engine, Exchange.EchoAsync);
        var stream = pair.Open();
        stream.SendRequest("/", "before"u8, end: false, out _);
        for (var i = 0; i < 20; i++)
        {
            var peer = new RawPeer(engine, UplinkRole.Agent, onStream: other => other.Release());
            await peer.SendAsync(Frame.Request(_first), Frame.Data(new StreamId(9, 1), "x"u8));
            await ExpectEndAsync(peer, ProtocolError.UnknownStream);
            await peer.CloseAsync();
        }

        await stream.WriteAsync(" and after"u8.ToArray(), end: true);
        Assert.Equal("200", await stream.ReadHeadAsync());
        Assert.Equal("before and after"u8.ToArray(), (await stream.ReadBodyAsync()).Bytes);
        stream.Release();
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Random_bytes_end_the_session_in_order(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        for (var seed = 0; seed < 300; seed++)
        {
            var random = new Random(seed);
            var peer = new RawPeer(
                engine,
                seed % 2 == 0 ? UplinkRole.Agent : UplinkRole.Entry,
                new PairOptions { MaxStreams = 16 },
                stream => stream.Release());
            peer.UplinkTransport.Incoming.Tear(random);
            var garbage = new byte[random.Next(1, 3000)];
            random.NextBytes(garbage);
            for (var i = 0; i + 8 < garbage.Length && seed % 3 == 0; i += random.Next(8, 60))
            {
                // Often enough a header that is nearly right.
                new FrameHeader(
                    random.Next(30),
                    (FrameType)random.Next(1, 12),
                    (FrameFlags)(random.Next(8) * 0x20),
                    new StreamId(random.Next(4), (ushort)random.Next(4)))
                    .Write(garbage.AsSpan(i));
            }

            await peer.SendAsync(garbage);
            var end = await peer.CloseAsync();
            Assert.True(
                end.Reason is SessionEndReason.ProtocolError or SessionEndReason.PeerClosed || end.ByPeer,
                $"Seed {seed}: {end}");
        }
    });

    private static TunnelStream Ask(RawPeer peer)
    {
        var stream = peer.Uplink.TryOpenStream();
        Assert.NotNull(stream);
        Assert.Equal(StreamSendStatus.Sent, stream.SendRequest("/"));
        return stream;
    }

    private static async Task ExpectEndAsync(RawPeer peer, ProtocolError error)
    {
        var goAway = (await peer.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.ProtocolError, error.ToString()), goAway);
        Assert.Equal(error, peer.Uplink.End!.Error);
    }
}
