using System.Diagnostics.Metrics;
using System.Net.Sockets;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.Relay;

public sealed class RelayTests
{
    private const long FromOldest = EventRingReaderOptions.FromOldest;

    private static void AssertWhole(CheckingSink sink, long records, params RingGap[] gaps)
    {
        Assert.Null(sink.Error);
        Assert.Equal(records, sink.Records);
        Assert.Equal(gaps, sink.Gaps);
    }

    private static RelayStatus Ask(RelayFixture f, byte[] hello)
    {
        using Socket socket = f.Connect();
        return Ask(socket, hello);
    }

    private static RelayStatus Ask(Socket socket, byte[] hello)
    {
        socket.Send(hello);
        byte[] answer = new byte[64];
        int filled = 0;
        RelayFrameKind kind;
        ReadOnlySpan<byte> body;
        while (RelayFrame.TryRead(answer.AsSpan(0, filled), out kind, out body) == 0)
        {
            int read = socket.Receive(answer.AsSpan(filled));
            Assert.NotEqual(0, read);
            filled += read;
        }

        Assert.Equal(RelayFrameKind.Welcome, kind);
        return (RelayStatus)BitConverter.ToUInt16(body);
    }

    private static bool IsCutOff(Socket socket) => socket.Poll(TimeSpan.Zero, SelectMode.SelectRead) && socket.Available == 0;

    [Fact]
    public async Task Every_client_gets_every_record_from_where_it_asked()
    {
        await using var f = new RelayFixture();
        f.Publish(0, 100);
        f.Start();
        f.Publish(100, 100);
        CheckingSink oldest = f.Follow(FromOldest);
        CheckingSink middle = f.Follow(150);
        CheckingSink future = f.Follow(1_000_000);
        await oldest.When(s => s.Next == 200);
        await middle.When(s => s.Next == 200);
        f.Publish(200, 3000, length: 200);
        await oldest.When(s => s.Next == 3200);
        await middle.When(s => s.Next == 3200);
        AssertWhole(oldest, 3200);
        AssertWhole(middle, 3050);
        Assert.Null(future.Error);
    }

    [Fact]
    public async Task A_client_that_joins_while_records_flow_has_no_hole_and_no_repeat_at_the_seam()
    {
        await using var f = new RelayFixture(1 << 16);
        f.Start();
        Task publishing = Task.Run(() =>
        {
            for (int i = 0; i < 60; i++)
            {
                f.Publish(i * 1000, 1000);
                Thread.Yield();
            }
        });
        CheckingSink[] sinks = new CheckingSink[10];
        for (int i = 0; i < sinks.Length; i++)
        {
            sinks[i] = f.Follow(FromOldest);
            await sinks[i].When(s => s.Records > 0);
        }

        await publishing;
        foreach (CheckingSink sink in sinks)
        {
            await sink.When(s => s.Next == 60_000);
            AssertWhole(sink, 60_000);
        }
    }

    [Fact]
    public async Task A_client_at_which_the_pump_throws_ends_and_all_others_are_sent_the_same_at_once()
    {
        await using var f = new RelayFixture();
        var faults = new AsyncCounter("faults");

        // Nothing is sent unasked: whom the pump has passed over would have to wait longer than the test.
        EventRelayServer server = f.Start(
            new RelayServerOptions { HeartbeatAfter = TimeSpan.FromMinutes(10), OnFault = _ => faults.Increment() });
        CheckingSink[] sinks =
        [
            .. Enumerable.Range(0, 4).Select(
                _ => f.Follow(FromOldest, static options => options with { SilenceLimit = TimeSpan.FromMinutes(10) })),
        ];
        for (int i = 1; i <= 3; i++)
        {
            // From the second on it is the pump itself that sends.
            f.Publish((i - 1) * 10, 10);
            await Task.WhenAll(sinks.Select(sink => sink.When(s => s.Next == i * 10)));
        }

        int failures = 1;
        using var listener = new MeterListener();
        listener.SetMeasurementEventCallback<long>((_, _, _, _) =>
        {
            if (Interlocked.Exchange(ref failures, 0) == 1)
            {
                throw new InvalidTimeZoneException();
            }
        });
        listener.EnableMeasurementEvents(server.Metrics.SentBytes);
        f.Publish(30, 10);
        await Task.WhenAll(sinks.Select(static sink => sink.When(static s => s.Next == 40)));
        await faults.WaitForAsync(1);

        // The one that was ended comes back and has missed nothing. It had been sent the bytes before, so that it sees its end later.
        await await Task.WhenAny(sinks.Select(static sink => sink.When(static s => !s.Ends.IsEmpty)));
        Assert.Single(sinks, static sink => !sink.Ends.IsEmpty);
        f.Publish(40, 10);
        await Task.WhenAll(sinks.Select(static sink => sink.When(static s => s.Next == 50)));
        Array.ForEach(sinks, static sink => AssertWhole(sink, 50));
        Assert.Equal(1, faults.Value);
    }

    [Fact]
    public async Task After_a_reconnect_a_client_resumes_behind_its_last_record()
    {
        await using var f = new RelayFixture();
        f.Start();
        CheckingSink sink = f.Follow(FromOldest);
        f.Publish(0, 500);
        await sink.When(s => s.Next == 500);
        await f.StopAsync();
        f.Publish(500, 500);
        f.Start();
        f.Publish(1000, 500);
        await sink.When(s => s.Next == 1500);
        AssertWhole(sink, 1500);
        Assert.NotEmpty(sink.Ends);
    }

    [Fact]
    public async Task What_was_lost_between_two_connections_is_reported_to_the_record()
    {
        await using var f = new RelayFixture(capacity: 1024);
        f.Start();
        CheckingSink sink = f.Follow(FromOldest);
        f.Publish(0, 10);
        await sink.When(s => s.Next == 10);
        await f.StopAsync();
        f.Publish(10, 5000);
        f.Start();
        await sink.When(s => s.Next == 5010);
        AssertWhole(sink, 10 + 1024, new RingGap(10, 5010 - 1024 - 10, RingGapReason.Overwritten));
    }

    [Fact]
    public async Task A_client_that_comes_back_to_another_ring_learns_it_and_starts_with_its_oldest_record()
    {
        await using var f = new RelayFixture();
        f.Start();
        CheckingSink sink = f.Follow(FromOldest);
        f.Publish(0, 10);
        await sink.When(s => s.Next == 10);
        await f.StopAsync();
        f.Ring = SharedEventRing.Create(f.RingPath, f.RingOptions);
        f.Producer = f.Ring.CreateProducer();
        f.Publish(0, 4);
        f.Start();
        await sink.When(s => s.Records == 14);
        AssertWhole(sink, 14, new RingGap(10, 0, RingGapReason.NewRing));
    }

    [Fact]
    public async Task Gaps_of_the_ring_reach_the_clients_in_their_place()
    {
        await using var f = new RelayFixture();
        f.Start();
        CheckingSink sink = f.Follow(FromOldest);
        f.Publish(0, 5);
        f.Producer.TryClaim(out RingClaim claim);
        claim.Abandon();
        f.Publish(6, 5);
        await sink.When(s => s.Next == 11);
        AssertWhole(sink, 10, new RingGap(5, 1, RingGapReason.Abandoned));
    }

    [Fact]
    public async Task A_client_that_lags_beyond_its_buffer_is_closed_and_no_other_notices()
    {
        await using var f = new RelayFixture(1 << 16);
        RelayServerOptions options = new() { ClientBuffer = 1 << 20, SendBuffer = 16 * 1024 };
        f.Start(options);
        CheckingSink good = f.Follow(FromOldest);
        using Socket slow = f.Connect(receiveBuffer: 8 * 1024);
        byte[] hello = new byte[64];
        slow.Send(hello.AsSpan(0, RelayFrame.WriteHello(hello, 0, FromOldest)));
        byte[] buffer = new byte[1 << 20];
        int filled = slow.Receive(buffer); // It was welcomed…
        long published = 0;
        while (f.Closed.Value == 0 && published < 200_000)
        {
            f.Publish(published, 100, length: 200); // …and reads nothing more.
            published += 100;
            await good.When(s => s.Next == published);
        }

        Assert.InRange(published, 1, 199_999);
        AssertWhole(good, published);

        // What had been sent before the end is whole frames and, in their place, the warning.
        int warnings = 0;
        int start = 0;
        while (true)
        {
            int length;
            while ((length = RelayFrame.TryRead(buffer.AsSpan(start, filled - start), out RelayFrameKind kind, out _)) > 0)
            {
                start += length;
                warnings += kind == RelayFrameKind.SlowWarning ? 1 : 0;
            }

            Assert.Equal(0, length);
            buffer.AsSpan(start, filled - start).CopyTo(buffer);
            filled -= start;
            start = 0;
            int read;
            try
            {
                read = slow.Receive(buffer.AsSpan(filled));
            }
            catch (SocketException)
            {
                break;
            }

            if (read == 0)
            {
                break;
            }

            filled += read;
        }

        Assert.InRange(warnings, 0, 1);
    }

    [Fact]
    public async Task A_client_that_is_slow_for_a_while_gets_the_warning_and_then_everything()
    {
        await using var f = new RelayFixture(1 << 16);
        f.Start(new RelayServerOptions { ClientBuffer = 4 << 20, SendBuffer = 128 * 1024 });
        using var gate = new ManualResetEventSlim();
        var sink = new BlockingSink(gate);
        using var stop = new CancellationTokenSource();
        Task client = Task.Run(() => new EventRelayClient(new RelayClientOptions
        {
            Server = f.Server!.LocalEndPoint,
            From = FromOldest,
            OnDisconnected = (end, _) => sink.Checking.OnEnd(end),
            SocketReceiveBuffer = 128 * 1024, // A window below loopback's segment size would make TCP crawl on its timers.
        }, sink).RunAsync(stop.Token));
        f.Publish(0, 1);
        await sink.First.Task.WaitAsync(RelayFixture.Limit);
        f.Publish(1, 16_000, length: 240); // About 3.7 MiB: beyond the half, below the limit.
        await f.Counts.UntilAsync(() => f.Server!.StreamPosition > 16_000 * 244, "the relay has read all records");
        gate.Set();
        await sink.Checking.When(s => s.Next == 16_001);
        Assert.Equal(1, sink.Checking.Warnings); // In its place in the stream, so before the last record.
        Assert.Empty(sink.Checking.Ends);
        AssertWhole(sink.Checking, 16_001);
        await stop.CancelAsync();
        await client;
    }

    [Fact]
    public async Task A_hello_that_is_wrong_is_refused_with_the_reason_and_others_continue()
    {
        await using var f = new RelayFixture();
        f.Start(new RelayServerOptions { MaxClients = 1 });
        CheckingSink sink = f.Follow(FromOldest);
        f.Publish(0, 1);
        await sink.When(s => s.Next == 1);
        byte[] version = new byte[36];
        RelayFrame.WriteHello(version, 0, 0);
        version[16] = 9;
        RelayFrame.Finish(version, RelayFrameKind.Hello, RelayFrame.HelloLength);
        byte[] from = new byte[36];
        RelayFrame.WriteHello(from, 0, -3);
        Assert.Equal(RelayStatus.UnsupportedVersion, Ask(f, version));
        Assert.Equal(RelayStatus.BadHello, Ask(f, from));
        Assert.Equal(RelayStatus.BadHello, Ask(f, "GET / HTTP/1.1\r\nHost: relay\r\n\r\n      "u8.ToArray()));
        Assert.Equal(1, f.Server!.ConnectionCount);
        byte[] good = new byte[36];
        RelayFrame.WriteHello(good, 0, 0);
        Assert.Equal(RelayStatus.TooManyClients, Ask(f, good));
        f.Publish(1, 1);
        await sink.When(s => s.Next == 2);
        AssertWhole(sink, 2);
    }

    [Fact]
    public async Task Peers_that_only_connect_are_cut_off_beyond_a_few_and_leave_room_behind_them()
    {
        await using var f = new RelayFixture();
        f.Start(new RelayServerOptions { MaxClients = 2, HelloTimeout = TimeSpan.FromMinutes(5) });
        List<Socket> silent = [.. Enumerable.Range(0, 60).Select(_ => f.Connect())];
        // Which of them are heard is not determined, only how many: half of the 64 places that there are, because they have one address.
        await WaitSignal.UntilAsync(() => silent.Count(IsCutOff) >= 60 - 32, "those beyond a few are cut off", RelayFixture.Limit);
        byte[] hello = new byte[36];
        RelayFrame.WriteHello(hello, 0, 0);
        ILookup<RelayStatus, Socket> heard = silent.Where(static socket => !IsCutOff(socket)).ToLookup(socket => Ask(socket, hello));
        Assert.Equal((2, 30), (heard[RelayStatus.Accepted].Count(), heard[RelayStatus.TooManyClients].Count()));
        silent.ForEach(static socket => socket.Dispose());
        f.Publish(0, 10);
        CheckingSink sink = f.Follow(FromOldest);
        await sink.When(static s => s.Next == 10);
        AssertWhole(sink, 10);
    }

    [Fact]
    public async Task A_damaged_stream_ends_the_connection_and_the_client_resumes()
    {
        await using var f = new RelayFixture();
        f.Start();
        f.Publish(0, 100);
        using var proxy = new FlippingProxy(f.Port, flipAt: 700);
        CheckingSink sink = f.Follow(FromOldest, o => o with { Server = proxy.EndPoint });
        await sink.When(s => s.Next == 100);
        AssertWhole(sink, 100);
        Assert.Contains(RelayClientEnd.ProtocolError, sink.Ends);
    }

    [Fact]
    public async Task Heartbeats_keep_an_idle_connection_and_silence_ends_one()
    {
        await using var f = new RelayFixture();
        f.Start(new RelayServerOptions { HeartbeatAfter = TimeSpan.FromMilliseconds(20) });
        CheckingSink idle = f.Follow(FromOldest, o => o with { SilenceLimit = TimeSpan.FromSeconds(10) });
        using var silent = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        silent.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 0));
        silent.Listen();
        CheckingSink lonely = f.Follow(
            FromOldest, o => o with { Server = silent.LocalEndPoint!, SilenceLimit = TimeSpan.FromMilliseconds(50) });
        await lonely.When(static s => !s.Ends.IsEmpty);
        Assert.Contains(RelayClientEnd.Silent, lonely.Ends);
        f.Publish(0, 1);
        await idle.When(s => s.Next == 1);
        Assert.Empty(idle.Ends);
    }

    [Fact]
    public async Task Metrics_count_clients_records_bytes_and_closings()
    {
        var sums = new System.Collections.Concurrent.ConcurrentDictionary<string, long>();
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, l) =>
        {
            if (instrument.Meter.Name == RelayMetrics.MeterName)
            {
                l.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<long>((i, v, _, _) => sums.AddOrUpdate(i.Name, v, (_, old) => old + v));
        listener.Start();
        await using (var f = new RelayFixture())
        {
            f.Start();
            CheckingSink sink = f.Follow(FromOldest);
            f.Publish(0, 100);
            await sink.When(s => s.Next == 100);
        }

        Assert.InRange(sums["tunnel2.relay.records"], 100, long.MaxValue);
        Assert.InRange(sums["tunnel2.relay.sent"], 1200, long.MaxValue);
        Assert.InRange(sums["tunnel2.relay.closed"], 1, long.MaxValue);
    }

    [Fact]
    public void Quantiles_are_those_of_the_last_whole_window()
    {
        var time = new ManualTimeProvider();
        var window = new QuantileWindow(time, TimeSpan.FromSeconds(10));
        for (int i = 1; i <= 100; i++)
        {
            long now = time.GetTimestamp();
            window.Add(now - (i * TimeSpan.TicksPerMillisecond), now);
        }

        Assert.Equal(0, window.Read().Count);
        time.Advance(TimeSpan.FromSeconds(10));
        (double p50, double p95, double p99, long count) = window.Read();
        Assert.Equal(100, count);
        Assert.Equal(0.050, p50, 0.002);
        Assert.Equal(0.095, p95, 0.003);
        Assert.Equal(0.099, p99, 0.003);
        time.Advance(TimeSpan.FromSeconds(30));
        Assert.Equal(0, window.Read().Count);
    }
}
