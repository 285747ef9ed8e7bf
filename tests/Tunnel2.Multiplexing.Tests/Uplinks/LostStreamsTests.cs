using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

/// <summary>What becomes of many streams when their uplink is lost.</summary>
public class LostStreamsTests
{
    private const int Streams = 1000;
    private const int Portion = 64;

    [Fact]
    public Task Others_on_the_thread_have_their_turn_between_portions() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry);
        var told = 0;
        var streams = Open(peer);
        var waits = streams.Select(stream => engine.Start(async () =>
        {
            var end = await stream.ReadHeadAsync();
            told++;
            return end;
        })).ToArray();
        await peer.SyncAsync();
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.TransportFailed));

        // What this test does is the other work: it comes back once for each thing that is ready, so that it sees each portion.
        var portions = new List<int> { told };
        for (var turns = 0; told < Streams && turns < Streams; turns++)
        {
            var before = told;
            await engine.YieldAsync();
            portions.Add(told - before);
        }

        Assert.Equal(Streams, told);
        Assert.All(portions, static portion => Assert.InRange(portion, 0, Portion));
        Assert.All(await Task.WhenAll(waits), static end => Assert.Equal("UplinkLost", end));
        await EndAsync(peer, engine, streams);
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Each_is_reported_once_except_those_that_were_released_before(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        const int Released = 100;
        var peer = new RawPeer(engine, UplinkRole.Entry);
        var told = new int[Streams];
        var streams = Open(peer);
        for (var i = 0; i < Streams; i++)
        {
            var number = i;
            streams[i].NotifyReset(
                (_, id) =>
                {
                    Assert.Equal(streams[number].Id, id);
                    Interlocked.Increment(ref told[number]);
                    if (number == 0)
                    {
                        Array.ForEach(streams[^Released..], static stream => stream.Release());
                    }
                },
                null);
        }

        await peer.SyncAsync();
        peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.TransportFailed));

        // A second cause of the end is reported to no stream again.
        Assert.False(peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.PeerSilent)));
        await engine.UntilAsync(() => told.Sum() >= Streams - Released, "all got the report");
        await EndAsync(peer, engine, streams[..^Released]);
        Assert.All(told[..^Released], static times => Assert.Equal(1, times));
        Assert.All(told[^Released..], static times => Assert.Equal(0, times));
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_observer_that_throws_keeps_no_other_from_the_report(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var faults = new ContainedFaults();
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Adjust = settings => settings with { Faults = faults } });
        var streams = Open(peer);
        int[] broken = [3, Portion + 3, Streams - 1];
        foreach (var i in broken)
        {
            streams[i].NotifyReset(static (_, _) => throw new InvalidTimeZoneException(), null);
        }

        var waits = streams.Select(stream => engine.Start(stream.ReadHeadAsync)).ToArray();
        await peer.SyncAsync();
        Assert.True(peer.Uplink.TryEnd(new UplinkEnd(SessionEndReason.TransportFailed)));
        Assert.All(await Task.WhenAll(waits), static end => Assert.Equal("UplinkLost", end));
        Assert.Equal(broken.Length, faults.Count);
        await EndAsync(peer, engine, streams);
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_throw_at_a_reset_by_the_peer_does_not_cost_the_uplink(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var faults = new ContainedFaults();
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { Adjust = settings => settings with { Faults = faults } });
        var streams = new[] { peer.Uplink.TryOpenStream()!, peer.Uplink.TryOpenStream()! };
        Array.ForEach(streams, static stream => stream.SendRequest("/"));
        streams[0].NotifyReset(static (_, _) => throw new InvalidTimeZoneException(), null);
        await peer.SendAsync(Frame.Rst(streams[0].Id, StreamResetReason.BackendProtocol), Frame.Response(streams[1].Id, 200, "served"u8));
        Assert.Equal("PeerReset", await streams[0].ReadHeadAsync());
        Assert.Equal("200", await streams[1].ReadHeadAsync());
        Assert.Equal(1, faults.Count);
        Array.ForEach(streams, static stream => stream.Release());
        Assert.Equal(SessionEndReason.PeerClosed, (await peer.CloseAsync()).Reason);
    });

    private static TunnelStream[] Open(RawPeer peer)
    {
        var streams = Enumerable.Range(0, Streams).Select(_ => peer.Uplink.TryOpenStream()!).ToArray();
        Array.ForEach(streams, static stream => stream.SendRequest("/"));
        return streams;
    }

    private static async Task EndAsync(RawPeer peer, TestEngine engine, TunnelStream[] streams)
    {
        Array.ForEach(streams, static stream => stream.Release());
        Assert.Equal(SessionEndReason.TransportFailed, (await peer.Run).Reason);
        await engine.UntilAsync(() => peer.Buffers.Outstanding == 0, "every buffer is back");
    }
}
