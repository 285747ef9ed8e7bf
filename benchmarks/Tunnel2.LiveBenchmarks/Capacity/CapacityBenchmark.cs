using System.Buffers.Binary;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.LiveBenchmarks.EventRing;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.Relay;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks.Capacity;

/// <summary>
/// The figures of docs/capacity.md: what ring, relay, windows and hub hold in memory, by what they are sized with, and what the whole plane
/// costs at 1,000, 10,000 and 100,000 requests a second.
/// </summary>
internal static class CapacityBenchmark
{
    private const long Second = 1_000_000;
    private const long Base = 1_893_456_000_000_000; // A whole minute.

    /// <summary>Nothing, for what polling and the measurement itself cost, and the rates.</summary>
    private static readonly int[] _rates = [0, 1_000, 10_000, 100_000];

    internal static int Run(string[] args)
    {
        int seconds = RingBenchmarks.Option(args, "--seconds", 10);
        int sessions = RingBenchmarks.Option(args, "--sessions", 200);
        Ring();
        Windows();
        Statistics();
        Relay();
        return _rates.Select(rate => Whole(rate, sessions, seconds)).Sum();
    }

    private static void Ring()
    {
        foreach (int slots in (int[])[65_536, 131_072, 1_048_576])
        {
            string path = PathOf("size");
            using (SharedEventRing.Create(path, new EventRingOptions { Capacity = slots }))
            {
                Print(
                    $"ring of {slots} records: file {new FileInfo(path).Length} B; history "
                        + string.Join(", ", _rates[1..].Select(rate => Invariant($"{slots / (double)rate:F2} s at {rate}/s"))));
            }

            File.Delete(path);
        }
    }

    /// <summary>Windows alone: every session has a request in each second of two minutes.</summary>
    private static void Windows()
    {
        foreach (int sessions in (int[])[100, 1_000, 10_000])
        {
            long before = Heap();
            var state = new WindowedState(new NoSink());
            var batch = new RequestSample[sessions];
            for (int second = 0; second < 119; second++)
            {
                for (int i = 0; i < sessions; i++)
                {
                    batch[i] = new RequestSample { Key = i, EndedUnixMicroseconds = Base + (second * Second) };
                }

                state.Process(batch);
                state.AdvanceTo(Base + (second * Second) - (Second / 2));
            }

            long bytes = Heap() - before;
            GC.KeepAlive(state);
            Print($"windows of {sessions} sessions: {bytes} B, {bytes / sessions} B a session");
        }
    }

    /// <summary>Windows and the hub's channels: the feed over a minute's end, when each session has a message of every length.</summary>
    private static void Statistics()
    {
        foreach (int sessions in (int[])[100, 1_000, 10_000])
        {
            long before = Heap();
            using var plane = new Plane(sessions);
            for (int second = 0; second < 125; second++)
            {
                for (int i = 0; i < sessions; i++)
                {
                    plane.Publish(i, Base + (second * Second));
                    plane.WaitForFeed(i);
                }
            }

            plane.WaitForFeed(0);
            long bytes = Heap() - before;
            Print($"windows and hub channels of {sessions} sessions: {bytes} B, {bytes / sessions} B a session");
        }
    }

    private static void Relay()
    {
        using var plane = new Plane(1, withFeed: false);
        Client[] clients = [.. Enumerable.Range(0, 20).Select(static _ => new Client())];
        using var meter = new Meter(RelayMetrics.MeterName);
        var server = new EventRelayServer(plane.Ring, new RelayServerOptions(), meter);
        long before = Heap();
        Array.ForEach(clients, client => client.Connect(server.LocalEndPoint));
        SpinWait.SpinUntil(() => clients.All(static client => client.Bytes > 0));
        long connected = Heap();
        while (server.StreamPosition < 32L << 20)
        {
            plane.Publish(0, Base);
            if (plane.Ring.Head % 1024 == 0)
            {
                Thread.Sleep(1);
            }
        }

        long kept = Heap() - connected;
        Print($"relay: {(connected - before) / clients.Length} B a client, {kept} B of history (limit of a client {8 << 20})");
        Array.ForEach(clients, static client => client.Dispose());
        server.DisposeAsync().AsTask().Wait();
    }

    /// <summary>Publisher, feed, hub and a relay with one client, at a fixed rate.</summary>
    private static int Whole(int rate, int sessions, int seconds)
    {
        using var plane = new Plane(sessions);
        using var meter = new Meter(RelayMetrics.MeterName);
        var server = new EventRelayServer(
            plane.Ring, new RelayServerOptions { PollEvery = TimeSpan.FromMilliseconds(10), SpinBeforeSleep = 0 }, meter);
        using var client = new Client();
        client.Connect(server.LocalEndPoint);
        SpinWait.SpinUntil(() => server.ConnectionCount == 1);
        TimeSpan processors = Process.GetCurrentProcess().TotalProcessorTime;
        long allocated = GC.GetTotalAllocatedBytes();
        long start = Stopwatch.GetTimestamp();
        long published = 0;
        double elapsed;
        while ((elapsed = Stopwatch.GetElapsedTime(start).TotalSeconds) < seconds)
        {
            for (long wanted = (long)(elapsed * rate); published < wanted; published++)
            {
                plane.Publish((int)(published % sessions), Base + (long)(elapsed * Second));
            }

            Thread.Sleep(1);
        }

        double used = (Process.GetCurrentProcess().TotalProcessorTime - processors).TotalSeconds / elapsed;
        allocated = GC.GetTotalAllocatedBytes() - allocated;
        bool complete = SpinWait.SpinUntil(() => client.Records == published, TimeSpan.FromSeconds(5)) && client.Missed == 0;
        string outcome = complete ? "nothing missed" : $"LOST {published - client.Records}";
        string relay = published == 0
            ? ""
            : Invariant(
                $"relay {client.Bytes / elapsed / 1e6:F2} MB/s a client, {client.Bytes / (double)published:F0} B a record, ")
                + Invariant($"{(8 << 20) * elapsed / client.Bytes:F1} s in a client's 8 MiB, ");
        Print(string.Create(
            CultureInfo.InvariantCulture,
            $"whole plane at {rate}/s, {sessions} sessions: {used * 100:F1} % of a processor, {relay}"
                + $"{allocated / elapsed / 1e6:F2} MB/s allocated, {outcome}"));
        server.DisposeAsync().AsTask().Wait();
        return complete ? 0 : 1;
    }

    private static long Heap() => GC.GetTotalMemory(forceFullCollection: true);

    private static string PathOf(string what) => $"/dev/shm/tunnel2-bench-{Environment.ProcessId}-{what}";

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);

    private static void Print(string line) => Console.WriteLine(line);

    private sealed class NoSink : IWindowSink
    {
        public void OnWindow(int key, long start, int seconds, WindowCell cell)
        {
        }
    }

    /// <summary>A ring of the default size, with what ProxyEntry reads it with.</summary>
    private sealed class Plane : IDisposable
    {
        private readonly string _path = PathOf("plane");
        private readonly Meter _meter = new("benchmark");
        private readonly EventRingProducer _producer;
        private readonly Hub _hub;
        private readonly LiveFeed? _feed;
        private readonly byte[][] _payloads;

        internal Plane(int sessions, bool withFeed = true)
        {
            Ring = SharedEventRing.Create(_path, new EventRingOptions { Capacity = 65_536 });
            _producer = Ring.CreateProducer();
            _hub = new Hub(new HubLimits(), _meter, TimeProvider.System);
            byte[] buffer = new byte[Ring.MaxPayload];
            _payloads = [.. Enumerable.Range(0, sessions).Select(i =>
            {
                int length = RequestRecordCodec.Encode(buffer, new RequestRecord
                {
                    SessionName = Encoding.ASCII.GetBytes($"session-{i:D5}"),
                    Target = "/api/v1/items?page=2"u8,
                    StartedUnixMicroseconds = Base,
                    TotalMicroseconds = 1000,
                    BytesOut = 1000,
                    Status = 200,
                });
                return buffer[..length];
            })];
            if (withFeed)
            {
                _feed = new LiveFeed(
                    Ring, _hub, new RequestPublisher(Ring, TimeProvider.System),
                    new InMemorySessionDirectory(TimeProvider.System, TimeSpan.Zero), TimeProvider.System, new ContainedFaults(),
                    NullLogger.Instance, 1);
                _feed.Start();
            }
        }

        internal SharedEventRing Ring { get; }

        internal void Publish(int session, long ended)
        {
            BinaryPrimitives.WriteInt64LittleEndian(_payloads[session].AsSpan(8), ended - 1000);
            _producer.TryPublish((ushort)RecordType.Request, _payloads[session]);
        }

        /// <summary>The feed reads every 20 ms: in that time nothing may be overwritten.</summary>
        internal void WaitForFeed(int published)
        {
            if (published % 10_000 == 0)
            {
                Thread.Sleep(50);
            }
        }

        public void Dispose()
        {
            _feed?.Dispose();
            _hub.Dispose();
            Ring.Dispose();
            _meter.Dispose();
            File.Delete(_path);
        }
    }

    /// <summary>A client of the relay that counts what comes.</summary>
    private sealed class Client : IDisposable
    {
        private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp);
        private readonly byte[] _buffer = new byte[RelayFrame.HeaderLength + RelayFrame.MaxBody];
        private long _bytes;
        private long _records;
        private long _missed;

        internal void Connect(EndPoint server)
        {
            _socket.Connect(server);
            int length = RelayFrame.WriteHello(_buffer, 0, EventRingReaderOptions.FromHead);
            _socket.Send(_buffer.AsSpan(0, length));
            new Thread(Read) { IsBackground = true }.Start();
        }

        internal long Bytes => Volatile.Read(ref _bytes);

        internal long Records => Volatile.Read(ref _records);

        internal long Missed => Volatile.Read(ref _missed);

        public void Dispose() => _socket.Dispose();

        private void Read()
        {
            try
            {
                int filled = 0;
                while (true)
                {
                    int read = _socket.Receive(_buffer.AsSpan(filled));
                    if (read == 0)
                    {
                        return;
                    }

                    filled += read;
                    Interlocked.Add(ref _bytes, read);
                    int start = 0;
                    int length;
                    while ((length = RelayFrame.TryRead(
                        _buffer.AsSpan(start, filled - start), out RelayFrameKind kind, out ReadOnlySpan<byte> body)) > 0)
                    {
                        start += length;
                        if (kind == RelayFrameKind.Records)
                        {
                            Interlocked.Add(ref _records, BinaryPrimitives.ReadUInt32LittleEndian(body[8..]));
                        }
                        else if (kind == RelayFrameKind.Gap)
                        {
                            Interlocked.Add(ref _missed, BinaryPrimitives.ReadInt64LittleEndian(body[8..]));
                        }
                    }

                    _buffer.AsSpan(start, filled - start).CopyTo(_buffer);
                    filled -= start;
                }
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                // The end of the measurement.
            }
        }
    }
}
