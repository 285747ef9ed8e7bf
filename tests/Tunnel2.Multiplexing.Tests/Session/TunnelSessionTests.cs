using System.IO.Pipelines;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Session;

public class TunnelSessionTests
{
    [Fact]
    public Task New_streams_go_to_the_uplink_with_the_fewest_bytes_outstanding() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var session = new TunnelSession();
        var peers = Enumerable.Range(0, 3).Select(_ => new RawPeer(engine, UplinkRole.Entry)).ToArray();
        Assert.Null(session.TryOpenStream());
        Assert.All(peers, peer => Assert.True(session.TryAdd(peer.Uplink)));
        var used = new HashSet<UplinkStreams>();
        for (var i = 0; i < 3; i++)
        {
            var stream = session.TryOpenStream();
            Assert.NotNull(stream);
            stream.SendRequest("/", new byte[1000 * (i + 1)], end: false, out _);
            used.Add(stream.Uplink);
        }

        Assert.Equal(3, used.Count);
        Assert.Equal(3, session.OpenStreams);
        var fourth = session.TryOpenStream();
        Assert.Equal(1000, fourth!.Uplink.Sending.OutstandingBytes);
        session.End(SessionEndReason.Superseded, "elsewhere");
        Assert.Null(session.TryOpenStream());
        Assert.False(session.TryAdd(peers[0].Uplink));
        foreach (var peer in peers)
        {
            Assert.False(session.Completion.IsCompleted);
            foreach (var stream in peer.Uplink.Streams.Table.Snapshot())
            {
                stream.Release();
            }

            session.Remove(peer.Uplink, await peer.CloseAsync());
        }

        var end = await session.Completion.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(new UplinkEnd(SessionEndReason.Superseded, Text: "elsewhere"), end);
    });

    [Theory]
    [InlineData(SessionEndReason.ProtocolError, true)]
    [InlineData(SessionEndReason.ControlQueueOverflow, true)]
    [InlineData(SessionEndReason.Internal, false)]
    [InlineData(SessionEndReason.PeerClosed, false)]
    public Task What_ends_the_session_ends_all_uplinks_at_once(SessionEndReason reason, bool endsAll) => TestEngine.RunAsync(
        EngineKind.Pool,
        async engine =>
        {
            var session = new TunnelSession();
            var peers = Enumerable.Range(0, 3).Select(_ => new RawPeer(engine, UplinkRole.Entry)).ToArray();
            Assert.All(peers, peer => Assert.True(session.TryAdd(peer.Uplink)));
            peers[1].Uplink.TryEnd(new UplinkEnd(reason, ProtocolError.None, Text: "broken"));
            Assert.Equal(endsAll, session.HasEnded);
            foreach (var other in new[] { peers[0], peers[2] })
            {
                Assert.Equal(endsAll ? new UplinkEnd(reason, Text: "broken") : null, other.Uplink.End);
            }

            foreach (var peer in peers)
            {
                session.Remove(peer.Uplink, await peer.CloseAsync());
            }

            Assert.Equal(endsAll ? reason : SessionEndReason.PeerClosed, (await session.Completion).Reason);
        });

    [Fact]
    public Task It_lives_on_while_one_uplink_does_and_ends_with_the_last_ones_reason() => TestEngine.RunAsync(
        EngineKind.Pool,
        async engine =>
        {
            var session = new TunnelSession();
            var first = new RawPeer(engine, UplinkRole.Entry);
            var second = new RawPeer(engine, UplinkRole.Entry);
            session.TryAdd(first.Uplink);
            session.TryAdd(second.Uplink);
            session.Remove(first.Uplink, await first.CloseAsync());
            Assert.False(session.Completion.IsCompleted);
            Assert.Same(second.Uplink, Assert.Single(session.Uplinks));
            second.Transport.Abort();
            session.Remove(second.Uplink, await second.Run);
            Assert.Equal(SessionEndReason.TransportFailed, (await session.Completion.WaitAsync(TimeSpan.FromSeconds(10))).Reason);
        });

    [Fact]
    public async Task A_session_without_uplinks_ends_at_once()
    {
        var session = new TunnelSession();
        session.End(SessionEndReason.Shutdown, "bye");
        Assert.Equal("bye", (await session.Completion).Text);
    }

    [Fact]
    public Task Downloads_are_spread_too_though_this_side_sends_next_to_nothing() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var session = new TunnelSession();
        var peers = Enumerable.Range(0, 4).Select(_ => new RawPeer(engine, UplinkRole.Entry)).ToArray();
        Assert.All(peers, peer => Assert.True(session.TryAdd(peer.Uplink)));
        for (var i = 0; i < 40; i++)
        {
            session.TryOpenStream()!.SendRequest("/");
        }

        await engine.UntilAsync(() => peers.Sum(static peer => peer.Uplink.Statistics.FramesSent) == 40, "all requests are sent");

        // Within a group of four it is the chance of a moment that decides: who waits least.
        Assert.All(peers, static peer => Assert.InRange(peer.Uplink.OpenStreams, 8, 12));
        await CloseAsync(session, peers);
    });

    [Theory]
    [InlineData(10, 8, false, false)]
    [InlineData(11, 8, false, true)]
    [InlineData(13, 8, true, false)]
    [InlineData(14, 8, true, true)]
    public Task A_caller_stays_on_its_loop_and_a_settled_one_stays_longer(int streams, int others, bool isSettled, bool leaves) =>
        TestEngine.RunAsync(
            EngineKind.Pool,
            async engine =>
            {
                var session = new TunnelSession();
                var home = new OtherLoop(engine.Scheduler);
                var near = new RawPeer(
                    engine, UplinkRole.Entry, new PairOptions { Adjust = settings => settings with { WriterScheduler = home } });
                var far = new RawPeer(engine, UplinkRole.Entry);
                Fill(near, streams);
                Fill(far, others);
                session.TryAdd(near.Uplink);
                session.TryAdd(far.Uplink);
                Assert.Same((leaves ? far : near).Uplink.Streams, session.TryOpenStream(home: home, isSettled: isSettled)!.Uplink);
                await CloseAsync(session, [near, far]);
            });

    [Fact]
    public Task An_uplink_to_avoid_gets_a_stream_where_no_other_one_is_open() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var session = new TunnelSession();
        var peers = Enumerable.Range(0, 3).Select(_ => new RawPeer(engine, UplinkRole.Entry)).ToArray();
        Assert.All(peers, peer => session.TryAdd(peer.Uplink));
        Fill(peers[2], 20);
        Assert.Same(peers[2].Uplink.Streams, session.TryOpenStream(avoid: 0b011)!.Uplink);
        Assert.NotSame(peers[2].Uplink.Streams, session.TryOpenStream(avoid: 0b111)!.Uplink);
        Assert.NotSame(peers[2].Uplink.Streams, session.TryOpenStream(peers[2].Uplink.Streams, avoid: 0b011)!.Uplink);
        await CloseAsync(session, peers);
    });

    [Fact]
    public Task An_uplink_to_avoid_is_better_than_one_that_is_stalled() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var time = new ManualTimeProvider();
        var session = new TunnelSession();
        var avoided = MakePeer(engine, time);
        var stuck = MakePeer(engine, time);
        session.TryAdd(avoided.Uplink);
        session.TryAdd(stuck.Uplink);
        stuck.Transport.Incoming.Stall();
        session.TryOpenStream(avoid: 0b01)!.SendRequest("/sent", new byte[100], end: false, out _);
        await engine.YieldAsync(5);
        Assert.Equal(1, stuck.Uplink.OpenStreams);
        time.Advance(TimeSpan.FromSeconds(1.1));
        Assert.True(stuck.Uplink.IsStalled(time.GetTimestamp()));
        Assert.Same(avoided.Uplink.Streams, session.TryOpenStream(avoid: 0b01)!.Uplink);
        stuck.Transport.Incoming.Resume();
        await stuck.SyncAsync();
        Assert.Same(stuck.Uplink.Streams, session.TryOpenStream(avoid: 0b01)!.Uplink);
        await CloseAsync(session, [avoided, stuck]);
    });

    [Fact]
    public Task An_uplink_to_avoid_is_better_than_one_that_has_less_room() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var session = new TunnelSession();
        var avoided = new RawPeer(engine, UplinkRole.Entry, new PairOptions { UplinkWindow = 20_000 });
        var full = new RawPeer(engine, UplinkRole.Entry, new PairOptions { UplinkWindow = 20_000 });
        session.TryAdd(avoided.Uplink);
        session.TryAdd(full.Uplink);
        session.TryOpenStream(avoid: 0b01)!.SendRequest("/", new byte[10_000], end: false, out _);
        await engine.UntilAsync(() => full.Uplink.Sending.OutstandingBytes == 10_000, "half of the window is outstanding");
        Assert.Same(avoided.Uplink.Streams, session.TryOpenStream(avoid: 0b01)!.Uplink);
        await CloseAsync(session, [avoided, full]);
    });

    [Fact]
    public Task A_session_has_a_most_of_uplinks_and_gives_the_lowest_free_slot() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var session = new TunnelSession(maxUplinks: 3);
        var peers = Enumerable.Range(0, 4).Select(_ => new RawPeer(engine, UplinkRole.Entry)).ToArray();
        Assert.Equal([true, true, true, false], peers.Select(peer => session.TryAdd(peer.Uplink)));
        Assert.Equal([0, 1, 2], peers.Take(3).Select(static peer => peer.Uplink.Slot));
        Assert.False(session.Remove(peers[1].Uplink, await peers[1].CloseAsync()));
        Assert.True(session.TryAdd(peers[3].Uplink));
        Assert.Equal(1, peers[3].Uplink.Slot);
        Assert.False(session.HasEnded);
        await CloseAsync(session, [peers[0], peers[2], peers[3]]);
        Assert.True(session.HasEnded);
    });

    [Fact]
    public Task A_full_uplink_leaves_the_stream_to_the_others_and_the_one_that_lost_it_is_left_out() => TestEngine.RunAsync(
        EngineKind.Pool,
        async engine =>
        {
            var session = new TunnelSession();
            var small = new RawPeer(engine, UplinkRole.Entry, new PairOptions { MaxStreams = 1 });
            var large = new RawPeer(engine, UplinkRole.Entry);
            session.TryAdd(small.Uplink);
            session.TryAdd(large.Uplink);
            var taken = small.Uplink.TryOpenStream()!;
            var others = Enumerable.Range(0, 3).Select(_ => session.TryOpenStream()!).ToArray();
            Assert.All(others, other => Assert.Same(large.Uplink.Streams, other.Uplink));
            Assert.Null(session.TryOpenStream(except: large.Uplink.Streams));
            taken.Release();
            var moved = session.TryOpenStream(except: large.Uplink.Streams);
            Assert.Same(small.Uplink.Streams, moved!.Uplink);
            moved.Release();
            await CloseAsync(session, [small, large]);
        });

    [Fact]
    public Task A_stalled_uplink_gets_no_new_streams_gives_back_those_not_sent_and_is_used_when_there_is_no_other() => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var time = new ManualTimeProvider();
            var session = new TunnelSession();
            var stuck = MakePeer(engine, time);
            session.TryAdd(stuck.Uplink);
            stuck.Uplink.StallObserver = session.OnStalled;
            stuck.Transport.Incoming.Stall();
            var sent = session.TryOpenStream()!;
            sent.SendRequest("/sent", new byte[100], end: false, out _);
            await engine.YieldAsync(5);
            var waiting = session.TryOpenStream()!;
            waiting.SendRequest("/waiting");
            await engine.YieldAsync(5);
            time.Advance(TimeSpan.FromSeconds(1.1));
            Assert.True(stuck.Uplink.IsStalled(time.GetTimestamp()));
            stuck.Uplink.OnHeartbeat();

            // There is no other uplink: it keeps what it has, and gets more.
            Assert.Equal(StreamFailureKind.None, waiting.Failure.Kind);
            var also = session.TryOpenStream()!;
            also.SendRequest("/also");
            Assert.Same(stuck.Uplink.Streams, also.Uplink);

            var good = MakePeer(engine, time);
            session.TryAdd(good.Uplink);
            Enumerable.Range(0, 3).ToList().ForEach(_ => Assert.Same(good.Uplink.Streams, session.TryOpenStream()!.Uplink));
            stuck.Uplink.OnHeartbeat();
            foreach (var stream in new[] { waiting, also })
            {
                Assert.Equal(
                    (StreamFailureKind.UplinkLost, SessionEndReason.WriteStalled), (stream.Failure.Kind, stream.Failure.UplinkReason));
                Assert.True(stream.IsUntouched);
                stream.Release();
            }

            // What was sent may have arrived: it stays, and continues when the path does.
            Assert.Equal(StreamFailureKind.None, sent.Failure.Kind);
            Assert.False(sent.IsUntouched);
            stuck.Transport.Incoming.Resume();
            await stuck.SyncAsync();
            Assert.False(stuck.Uplink.IsStalled(time.GetTimestamp()));
            Assert.Equal(1, stuck.Uplink.OpenStreams);
            await CloseAsync(session, [stuck, good]);
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Streams_of_a_lost_uplink_are_untouched_only_when_nothing_of_them_was_sent(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Capacity = 64 });
            peer.Transport.Incoming.Stall();
            var sent = peer.Uplink.TryOpenStream()!;
            sent.SendRequest("/sent", new byte[1000], end: true, out _);
            await engine.UntilAsync(() => peer.Uplink.Writer.IsSending, "the first request is being sent");
            var queued = peer.Uplink.TryOpenStream()!;
            queued.SendRequest("/queued");
            var silent = peer.Uplink.TryOpenStream()!;
            peer.Transport.Abort();
            await peer.Run;
            Assert.Equal([false, true, true], new[] { sent, queued, silent }.Select(static stream => stream.IsUntouched));
            Assert.All(new[] { sent, queued, silent }, static stream => Assert.Equal(StreamFailureKind.UplinkLost, stream.Failure.Kind));
            sent.Release();
            queued.Release();
            silent.Release();
            await engine.UntilAsync(() => peer.Buffers.Outstanding == 0, "every buffer is back");
        });

    private static RawPeer MakePeer(TestEngine engine, TimeProvider time) =>
        new(engine, UplinkRole.Entry, new PairOptions { Capacity = 64, Adjust = settings => settings with { TimeProvider = time } });

    private static async Task CloseAsync(TunnelSession session, RawPeer[] peers)
    {
        foreach (var peer in peers)
        {
            foreach (var stream in peer.Uplink.Streams.Table.Snapshot())
            {
                stream.Release();
            }

            session.Remove(peer.Uplink, await peer.CloseAsync());
        }
    }

    private static void Fill(RawPeer peer, int streams)
    {
        for (var i = 0; i < streams; i++)
        {
            Assert.NotNull(peer.Uplink.TryOpenStream());
        }
    }

    /// <summary>Works as another does, and is distinct from it.</summary>
    private sealed class OtherLoop(PipeScheduler inner) : PipeScheduler
    {
        public override void Schedule(Action<object?> action, object? state) => inner.Schedule(action, state);
    }
}
