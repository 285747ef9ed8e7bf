using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.LiveBenchmarks.EventRing;

/// <summary>The TCP relay on loopback: throughput to one and to many, one-way latency beside a bare socket, and the soak.</summary>
internal static class RelayBenchmarks
{
    private const int Payload = 200;

    internal static int Run(string[] args)
    {
        int seconds = RingBenchmarks.Option(args, "--seconds", 5);
        int clients = RingBenchmarks.Option(args, "--clients", 1);
        return (args.Length > 0 ? args[0] : "") switch
        {
            "throughput" => Throughput(clients, seconds, args.Contains("--raw")),
            "latency" => Latency(RingBenchmarks.Option(args, "--rounds", 20_000)),
            "soak" => Soak(RingBenchmarks.Option(args, "--clients", 50), seconds, RingBenchmarks.Option(args, "--rate", 2000)),
            _ => Usage(),
        };
    }

    /// <summary>All clients connect at the same time, and from one address.</summary>
    private const int MaxStrangers = 256;

    private static int Usage()
    {
        Console.Error.WriteLine("usage: relay throughput|latency|soak [options] (see README.md)");
        return 2;
    }

    /// <summary>Flat out within a window of half the ring, so that nothing is lost; the checking clients verify every record.</summary>
    private static int Throughput(int clients, int seconds, bool raw)
    {
        using SharedEventRing ring = Create();
        using var meter = new Meter(RelayMetrics.MeterName);
        var server = new EventRelayServer(ring, new RelayServerOptions { ClientBuffer = 64 << 20, MaxStrangers = MaxStrangers }, meter);
        using var stop = new CancellationTokenSource();
        CountingSink[] sinks = [.. Enumerable.Range(0, clients).Select(_ => new CountingSink())];
        Task[] following = [.. sinks.Select(s => raw ? DrainAsync(server.LocalEndPoint, s, stop.Token) : Follow(server, s, stop.Token))];
        SpinWait.SpinUntil(() => sinks.All(s => s.Welcomed), TimeSpan.FromSeconds(raw ? 5 : 1));
        EventRingProducer producer = ring.CreateProducer();
        var batch = new RingBatch(64, ring.MaxPayload);
        for (int i = 0; i < 64; i++)
        {
            batch.TryAdd(1, new byte[Payload]);
        }

        long published = 0;
        long before = sinks.Sum(s => s.Records);
        long started = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(started).TotalSeconds < seconds)
        {
            if (published - sinks.Min(s => s.Records) > ring.Capacity / 2)
            {
                Thread.Sleep(0);
                continue;
            }

            for (int i = 0; i < 64; i++)
            {
                Unsafe.WriteUnaligned(ref batch.Buffer[batch.Entries[i].Offset], published + i);
            }

            published += producer.TryPublishBatch(batch);
        }

        bool complete = SpinWait.SpinUntil(() => sinks.All(s => s.Records >= published), TimeSpan.FromSeconds(10));
        double elapsed = Stopwatch.GetElapsedTime(started).TotalSeconds;
        long delivered = sinks.Sum(s => s.Records) - before;
        stop.Cancel();
        server.DisposeAsync().AsTask().Wait();
        Task.WhenAll(following).Wait(5000);
        long wrong = sinks.Sum(s => s.Wrong);
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{clients} {(raw ? "raw" : "checking")} client(s): {published / elapsed / 1e6:F2} M records/s, "
                + $"{delivered / elapsed / 1e6:F2} M deliveries/s"
            + $" at {Payload} B, {(complete && wrong == 0 ? "nothing lost" : $"INCOMPLETE, {wrong} wrong")}"));
        return complete && wrong == 0 ? 0 : 1;
    }

    private static int Latency(int rounds)
    {
        using SharedEventRing ring = Create();
        using var meter = new Meter(RelayMetrics.MeterName);
        for (int repeat = 0; repeat < 3; repeat++)
        {
            using var stop = new CancellationTokenSource();
            LogLinearHistogram bare = Bare(rounds).GetAwaiter().GetResult();
            var server = new EventRelayServer(ring, new RelayServerOptions { SpinBeforeSleep = 200_000 }, meter);
            var sink = new CountingSink();
            Task following = Follow(server, sink, stop.Token);
            SpinWait.SpinUntil(() => server.ConnectionCount == 1);
            Thread.Sleep(200);
            EventRingProducer producer = ring.CreateProducer();
            byte[] payload = new byte[64];
            var relay = new LogLinearHistogram();
            for (int i = 0; i < rounds; i++)
            {
                long seen = sink.Records;
                long start = Stopwatch.GetTimestamp();
                producer.TryPublish(1, payload);
                while (sink.Records == seen)
                {
                    Thread.Sleep(0); // Two cores and three threads: a thread with nothing to do gives way.
                }

                relay.Add((uint)(sink.LastSeen - start));
            }

            stop.Cancel();
            server.DisposeAsync().AsTask().Wait();
            following.Wait();
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"one way, 64 B: relay p50 {relay.Quantile(0.5) / 1000.0:F1} p99 {relay.Quantile(0.99) / 1000.0:F1} µs; bare socket p50 "
                    + $"{bare.Quantile(0.5) / 1000.0:F1} p99 {bare.Quantile(0.99) / 1000.0:F1} µs; ratio of p50 "
                    + $"{(double)relay.Quantile(0.5) / bare.Quantile(0.5):F2}"));
        }

        return 0;
    }

    /// <summary>A send on the same kind of socket, received the same way; the sender gives way in the same loop.</summary>
    private static async Task<LogLinearHistogram> Bare(int rounds)
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        using var sender = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        sender.Connect(listener.LocalEndPoint!);
        using Socket receiver = listener.Accept();
        long seen = 0;
        long at = 0;
        Task receiving = Task.Run(async () =>
        {
            byte[] buffer = new byte[1024];
            while (await receiver.ReceiveAsync(buffer) > 0)
            {
                Volatile.Write(ref at, Stopwatch.GetTimestamp());
                Interlocked.Increment(ref seen);
            }
        });
        var histogram = new LogLinearHistogram();
        byte[] payload = new byte[96];
        for (int i = 0; i < rounds; i++)
        {
            long start = Stopwatch.GetTimestamp();
            sender.Send(payload);
            while (Volatile.Read(ref seen) == i)
            {
                Thread.Sleep(0);
            }

            histogram.Add((uint)(Volatile.Read(ref at) - start));
        }

        sender.Shutdown(SocketShutdown.Send);
        await receiving;
        return histogram;
    }

    /// <summary>
    /// Many clients at a fixed rate, first alone, then with one that reads a little at a time: the others must not notice.
    /// </summary>
    private static int Soak(int clients, int seconds, int rate)
    {
        LogLinearHistogram[] results = new LogLinearHistogram[2];
        for (int phase = 0; phase < 2; phase++)
        {
            using SharedEventRing ring = Create();
            using var meter = new Meter(RelayMetrics.MeterName);
            var server = new EventRelayServer(
                ring,
                new RelayServerOptions { ClientBuffer = 1 << 20, SendBuffer = 32 * 1024, MaxStrangers = MaxStrangers },
                meter);
            using var stop = new CancellationTokenSource();
            CountingSink[] sinks = [.. Enumerable.Range(0, clients - 1).Select(_ => new CountingSink { Stamped = true })];
            List<Task> following = [.. sinks.Select(s => Follow(server, s, stop.Token))];
            int closed = 0;
            if (phase == 1)
            {
                following.Add(Task.Run(() => SlowAsync(server.LocalEndPoint, () => closed++, stop.Token)));
            }

            Thread.Sleep(500);
            EventRingProducer producer = ring.CreateProducer();
            byte[] payload = new byte[Payload];
            long started = Stopwatch.GetTimestamp();
            for (long i = 0; i < (long)rate * seconds; i++)
            {
                long due = started + (i * Stopwatch.Frequency / rate);
                long wait = due - Stopwatch.GetTimestamp();
                if (wait > Stopwatch.Frequency / 2000)
                {
                    Thread.Sleep(1);
                    i--;
                    continue;
                }

                Unsafe.WriteUnaligned(ref payload[0], due);
                producer.TryPublish(1, payload);
            }

            bool complete = SpinWait.SpinUntil(() => sinks.All(s => s.Records >= (long)rate * seconds), TimeSpan.FromSeconds(10));
            stop.Cancel();
            server.DisposeAsync().AsTask().Wait();
            Task.WhenAll(following).Wait(5000);
            results[phase] = sinks[0].Latency;
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"{(phase == 0 ? "alone" : "one slow")}: p50 {results[phase].Quantile(0.5) / 1000.0:F0} p99 "
                    + $"{results[phase].Quantile(0.99) / 1000.0:F0} µs, slow closed {closed} times, "
                    + $"{(complete ? "nothing lost" : "INCOMPLETE")}"));
            if (!complete)
            {
                return 1;
            }
        }

        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"p99 with a slow client / without: {(double)results[1].Quantile(0.99) / results[0].Quantile(0.99):F2}"));
        return 0;
    }

    private static SharedEventRing Create() =>
        SharedEventRing.Create($"/dev/shm/tunnel2-bench-{Environment.ProcessId}", new EventRingOptions());

    private static Task<RelayClientEnd> Follow(EventRelayServer server, CountingSink sink, CancellationToken token) => Task.Run(
        () => new EventRelayClient(new RelayClientOptions { Server = server.LocalEndPoint }, sink).RunAsync(token), CancellationToken.None);

    /// <summary>A client that counts bytes only, for the server's limit: checking fifty streams costs more than sending them.</summary>
    private static async Task DrainAsync(IPEndPoint server, CountingSink sink, CancellationToken token)
    {
        try
        {
            using Socket socket = await ConnectAsync(server);
            byte[] buffer = new byte[1 << 20];
            long bytes = -(RelayFrame.HeaderLength + RelayFrame.WelcomeLength);
            while (true)
            {
                int read = await socket.ReceiveAsync(buffer, SocketFlags.None, token);
                if (read == 0)
                {
                    return;
                }

                bytes += read;
                sink.Welcomed = true;
                // Heartbeats and frame headers count as bytes of records here: a share below 1 %.
                sink.Set(bytes / (Payload + 4));
            }
        }
        catch (OperationCanceledException)
        {
            // The run is over.
        }
        catch (SocketException)
        {
            // The same.
        }
    }

    private static async Task SlowAsync(IPEndPoint server, Action closed, CancellationToken token)
    {
        byte[] buffer = new byte[1024];
        while (!token.IsCancellationRequested)
        {
            try
            {
                using Socket socket = await ConnectAsync(server);
                while (await socket.ReceiveAsync(buffer, SocketFlags.None, token) > 0)
                {
                    await Task.Delay(10, token);
                }

                closed();
            }
            catch (OperationCanceledException)
            {
                return;
            }
            catch (SocketException)
            {
                closed();
            }
        }
    }

    private static async Task<Socket> ConnectAsync(IPEndPoint server)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(server);
        byte[] hello = new byte[64];
        int length = RelayFrame.WriteHello(hello, 0, EventRingReaderOptions.FromHead);
        await socket.SendAsync(hello.AsMemory(0, length));
        return socket;
    }

    private sealed class CountingSink : IEventRelaySink
    {
        private long _records;
        private long _next = -1;

        internal long Records => Volatile.Read(ref _records);

        internal long Wrong { get; private set; }

        internal long LastSeen { get; private set; }

        internal volatile bool Welcomed;

        internal bool Stamped { get; init; }

        internal LogLinearHistogram Latency { get; } = new();

        internal void Set(long records) => Volatile.Write(ref _records, records);

        public void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload)
        {
            if (_next >= 0 && sequence != _next)
            {
                Wrong++;
            }

            _next = sequence + 1;
            if (payload.Length == 64)
            {
                LastSeen = Stopwatch.GetTimestamp();
            }

            if (Stamped)
            {
                Latency.Add((uint)Math.Clamp(Stopwatch.GetTimestamp() - BitConverter.ToInt64(payload), 0, uint.MaxValue));
            }

            Volatile.Write(ref _records, _records + 1);
        }

        public void OnGap(RingGap gap) => Wrong += Math.Max(1, gap.Count);

        public void OnSlowWarning(long behind, long limit) => _ = behind;
    }
}
