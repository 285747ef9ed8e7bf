using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Windows;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Windows;

public class WindowGrowthTests
{
    private const int Start = 256 * 1024;
    private const int Limit = 8 * 1024 * 1024;

    private readonly ManualTimeProvider _time = new();

    [Theory]
    [InlineData(64 * 1024, 12, true)] // 5.5 MB/s over 50 ms: 273 KB in flight
    [InlineData(64 * 1024, 13, false)] // 5.0 MB/s: 252 KB
    [InlineData((Start / 2) + 1, 25, true)]
    [InlineData(Start / 2, 25, false)]
    [InlineData(200 * 1024, 39, true)]
    [InlineData(200 * 1024, 40, false)]
    public void A_window_doubles_when_more_than_it_holds_is_consumed_in_a_round_trip(int count, int milliseconds, bool grows)
    {
        _time.Advance(TimeSpan.FromMilliseconds(1));
        var growth = default(WindowGrowth);
        Assert.Equal(0, Ask(ref growth, count, Start));
        _time.Advance(TimeSpan.FromMilliseconds(milliseconds));
        Assert.Equal(grows ? Start : 0, Ask(ref growth, count, Start));
    }

    [Fact]
    public void It_grows_to_the_limit_and_no_further()
    {
        var growth = default(WindowGrowth);
        var size = Start + 1;
        var steps = 0;
        for (var asked = 0; asked < 10; asked++)
        {
            var by = Ask(ref growth, size / 4, size);
            steps += by > 0 ? 1 : 0;
            size += by;
        }

        Assert.Equal((Limit, 5), (size, steps));
    }

    [Fact]
    public void Nothing_grows_on_a_path_whose_round_trip_is_unknown_or_short()
    {
        var growth = default(WindowGrowth);
        Assert.Equal(0, Ask(ref growth, Start, Start, roundTrip: 0));
        Assert.Equal(0, Ask(ref growth, Start, Start, roundTrip: 0));
        Assert.Equal(0, Ask(ref growth, Start, Start, roundTrip: 0.9));
        Assert.Equal(Start, Ask(ref growth, Start, Start, roundTrip: 1));
    }

    [Fact]
    public void A_budget_gives_all_or_nothing_and_its_parent_is_asked_too()
    {
        var process = new WindowBudget(100);
        var uplink = new WindowBudget(80, process);
        var other = new WindowBudget(80, process);
        Assert.True(uplink.TryTake(80));
        Assert.False(uplink.TryTake(1));
        Assert.False(other.TryTake(21));
        Assert.Equal((80, 0, 80), (uplink.Taken, other.Taken, process.Taken));
        Assert.True(other.TryTake(20));
        uplink.Return(80);
        other.Return(20);
        Assert.Equal((0, 0, 0), (uplink.Taken, other.Taken, process.Taken));
    }

    [Fact]
    public Task A_fast_reader_on_a_long_path_is_granted_more_by_ordinary_credit() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { MaxStreamWindow = Limit, RoundTrip = 50, Capacity = 1 << 20 });
        var stream = peer.Uplink.TryOpenStream()!;
        stream.SendRequest("/");
        await peer.ReadUntilAsync(FrameType.Headers);
        await peer.SendAsync(Frame.Response(stream.Id, 200, end: false));
        await stream.ReadHeadAsync();
        long granted = Start;
        for (var sent = 0L; sent < 6_000_000;)
        {
            // All the credit that there is, in one go: the peer never waits for anything but the window.
            for (var batch = granted - sent; batch > 0;)
            {
                var count = (int)Math.Min(16_384, batch);
                await peer.SendAsync(Frame.Data(stream.Id, new byte[count]));
                batch -= count;
                sent += count;
            }

            await peer.SyncAsync();
            while (stream.TryRead(out var item))
            {
                stream.ConsumeData(item.Memory.Length);
            }

            granted += (await peer.SyncAsync()).Where(frame => frame.Header.Type == FrameType.Window && !frame.Header.Stream.IsUplink)
                .Sum(frame => System.Buffers.Binary.BinaryPrimitives.ReadInt32BigEndian(frame.Payload));
            Assert.True(granted - sent <= Limit);
        }

        Assert.Equal(Limit - Start, peer.Uplink.WindowGrowth.Taken);
        stream.Reset(StreamResetReason.Cancel);
        stream.Release();
        Assert.Equal(0, peer.Uplink.WindowGrowth.Taken);
        await peer.CloseAsync();
    });

    [Fact]
    public Task The_path_is_measured_from_the_start_four_times_in_a_row_before_a_window_grows() => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions { MaxStreamWindow = Limit });
            var time = (ManualTimeProvider)peer.Uplink.Settings.TimeProvider;
            for (var i = 4; i > 0; i--)
            {
                var ping = await peer.ReadUntilAsync(FrameType.Ping);
                Assert.Equal(TimeSpan.Zero, peer.Uplink.RoundTrip.Path);
                time.Advance(TimeSpan.FromMilliseconds(10 * i));
                await peer.SendAsync(Frame.Ping(ControlFrames.ReadPing(ping.Payload), ack: true));
            }

            Assert.Empty(await peer.SyncAsync());
            Assert.Equal(TimeSpan.FromMilliseconds(10), peer.Uplink.RoundTrip.Path);
            await peer.CloseAsync();
        });

    [Fact]
    public Task The_path_is_not_asked_for_where_windows_stay_as_they_are() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var peer = new RawPeer(engine, UplinkRole.Entry, new PairOptions());
        Assert.Empty(await peer.SyncAsync());
        await peer.CloseAsync();
    });

    [Fact]
    public Task Windows_of_one_uplink_grow_by_half_of_its_credit_in_all() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var pair = UplinkPair.Start(
            engine, Exchange.EchoAsync, new PairOptions { MaxStreamWindow = Limit, RoundTrip = 50, UplinkWindow = 4 * Start });
        await Task.WhenAll(Enumerable.Range(0, 10).Select(i => engine.Start(async () =>
        {
            await Exchange.RunAsync(engine, pair.Open(), i, 2_000_000, 100_000);
            Assert.InRange(pair.Entry.WindowGrowth.Taken, 0, 2 * Start);
            Assert.InRange(pair.Agent.WindowGrowth.Taken, 0, 2 * Start);
        })));
        await pair.FinishAsync();
    });

    private int Ask(ref WindowGrowth growth, int count, int size, double roundTrip = 50) =>
        growth.Ask(count, size, Limit, TimeSpan.FromMilliseconds(roundTrip), _time, Math.Max(1, _time.GetTimestamp()));
}
