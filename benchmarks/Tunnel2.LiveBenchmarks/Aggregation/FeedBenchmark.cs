using System.Buffers.Binary;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks.Aggregation;

/// <summary>
/// What ProxyEntry's live feed can carry, end to end: records are published to a ring of the default size at a fixed rate that waits for
/// nothing, and the feed reads, aggregates and publishes windows of every length to the hub. Every step of the search contains an end of a
/// minute, when the windows of all lengths close at once. A rate is carried when every record is in the windows: none missed because the
/// ring was lapped, none late.
/// </summary>
internal static class FeedBenchmark
{
    private const long Second = 1_000_000;

    /// <summary>Of event time, from the start of a step to the end of a minute.</summary>
    private const long BeforeMinute = 4 * Second;

    private const double FirstRate = 200_000;
    private const double FirstFactor = 1.5;

    /// <summary>Rates that are closer than this are not distinguished.</summary>
    private const double LastFactor = 1.06;

    internal static int Run(int sessions, int seconds, int[] partitions)
    {
        Console.WriteLine($"live feed, ring of 65,536 records, {sessions} sessions, steps of {seconds} s");
        double one = 0;
        foreach (int count in partitions)
        {
            double carried = Search(sessions, seconds, count);
            one = one == 0 ? carried : one;
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture, $"  {count} partitions carry {carried / 1e3:F0} k records/s  x{carried / one:F2}"));
        }

        return 0;
    }

    private static double Search(int sessions, int seconds, int partitions)
    {
        using var run = new FeedRun(sessions, partitions);
        run.Step(FirstRate / 4, seconds);
        double good = 0;
        double bad = double.PositiveInfinity;
        for (double rate = FirstRate; bad / Math.Max(good, 1) > LastFactor && rate > 1000;)
        {
            if (run.Step(rate, seconds))
            {
                good = rate;
            }
            else
            {
                bad = rate;
            }

            rate = double.IsInfinity(bad) ? good * FirstFactor : good == 0 ? bad / FirstFactor : Math.Sqrt(good * bad);
        }

        return good;
    }

    /// <summary>A feed with its ring and hub, and the publisher.</summary>
    private sealed class FeedRun : IDisposable
    {
        private readonly string _path = $"/dev/shm/tunnel2-bench-{Environment.ProcessId}";
        private readonly Meter _meter = new("benchmark");
        private readonly SharedEventRing _ring;
        private readonly EventRingProducer _producer;
        private readonly Hub _hub;
        private readonly LiveFeed _feed;
        private readonly ContainedFaults _faults = new();
        private readonly HubChannel _node;
        private readonly byte[][] _payloads;
        private readonly Dictionary<long, long> _minutes = [];
        private readonly int _partitions;
        private long _base = 1_893_456_000_000_000; // A whole minute.

        internal FeedRun(int sessions, int partitions)
        {
            _partitions = partitions;
            _ring = SharedEventRing.Create(_path, new EventRingOptions { Capacity = 65_536 });
            _producer = _ring.CreateProducer();
            _hub = new Hub(new HubLimits(), _meter, TimeProvider.System);
            _node = _hub.GetChannel("node.stats");
            _feed = new LiveFeed(
                _ring, _hub, new RequestPublisher(_ring, TimeProvider.System),
                new InMemorySessionDirectory(TimeProvider.System, TimeSpan.Zero), TimeProvider.System, _faults, NullLogger.Instance,
                partitions);
            var random = new Random(1);
            byte[] buffer = new byte[_ring.MaxPayload];
            _payloads = [.. Enumerable.Range(0, sessions).Select(i =>
            {
                int length = RequestRecordCodec.Encode(buffer, new RequestRecord
                {
                    SessionName = Encoding.ASCII.GetBytes($"session-{i:D5}"),
                    Target = "/api/v1/items?page=2"u8,
                    StartedUnixMicroseconds = _base,
                    TotalMicroseconds = (uint)random.Next(100, 100_000),
                    BytesOut = 1000,
                    Status = (ushort)(random.Next(100) == 0 ? 503 : 200),
                });
                return buffer[..length];
            })];
            random.Shuffle(_payloads);
            _feed.Start();
        }

        /// <summary>Publishes at a rate for some seconds, and says whether all of it came to be in the windows.</summary>
        internal bool Step(double rate, int seconds)
        {
            _minutes.Clear();
            _base += 180 * Second;
            TimeSpan before = Process.GetCurrentProcess().TotalProcessorTime;
            long start = Stopwatch.GetTimestamp();
            long published = 0;
            var publishing = new Thread(() => published = Publish(rate, seconds)) { IsBackground = true };
            publishing.Start();
            while (!publishing.Join(50))
            {
                Look();
            }

            double elapsed = Stopwatch.GetElapsedTime(start).TotalSeconds;
            double processors = (Process.GetCurrentProcess().TotalProcessorTime - before).TotalSeconds / elapsed;

            // One record much later closes all windows.
            long closing = Stopwatch.GetTimestamp();
            Publish(_payloads[0], _base + (125 * Second));
            while (!_minutes.ContainsKey(_base + (60 * Second)) && Stopwatch.GetElapsedTime(closing).TotalSeconds < 10)
            {
                Look();
                Thread.Yield();
            }

            long counted = _minutes.Values.Sum();
            bool offered = published >= rate * (seconds - 1) * 0.98;
            bool carried = counted == published && offered && _faults.Count == 0;
            string outcome = carried ? "carried" : offered ? $"lost {published - counted}" : "could not be offered";
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"    {_partitions} partitions, {rate / 1e3,6:F0} k/s: {outcome}, {processors:F2} processors, "
                    + $"windows closed after {Stopwatch.GetElapsedTime(closing).TotalMilliseconds:F0} ms"));
            return carried;
        }

        public void Dispose()
        {
            _feed.Dispose();
            _hub.Dispose();
            _ring.Dispose();
            _meter.Dispose();
            File.Delete(_path);
        }

        private long Publish(double rate, int seconds)
        {
            long first = _base + (60 * Second) - BeforeMinute;
            long start = Stopwatch.GetTimestamp();
            long published = 0;
            double elapsed;
            while ((elapsed = Stopwatch.GetElapsedTime(start).TotalSeconds) < seconds)
            {
                // The first second, in which the windows of the step before close, is a quiet one.
                long wanted = (long)(elapsed < 1 ? elapsed * 1000 : 1000 + ((elapsed - 1) * rate));
                if (wanted <= published)
                {
                    Thread.Sleep(1);
                    continue;
                }

                long time = first + (long)(elapsed * Second);
                for (int i = 0; i < 256 && published < wanted; i++, published++)
                {
                    Publish(_payloads[published % _payloads.Length], time);
                }
            }

            return published;
        }

        private void Publish(byte[] payload, long ended)
        {
            uint total = BinaryPrimitives.ReadUInt32LittleEndian(payload.AsSpan(28));
            BinaryPrimitives.WriteInt64LittleEndian(payload.AsSpan(8), ended - total);
            _producer.TryPublish((ushort)RecordType.Request, payload);
        }

        /// <summary>Keeps the two minutes of the step, once they are published for all sessions together.</summary>
        private void Look()
        {
            byte[] frame = _node.SnapshotFrame();
            int json = Array.IndexOf(frame, (byte)'{');
            using var snapshot = JsonDocument.Parse(frame.AsMemory(json));
            foreach (JsonElement message in snapshot.RootElement.GetProperty("messages").EnumerateArray())
            {
                JsonElement data = message.GetProperty("data");
                if (message.GetProperty("key").GetString() == "1m" && data.GetProperty("startUs").GetInt64() is var start
                    && start >= _base && start <= _base + (60 * Second))
                {
                    _minutes[start] = data.GetProperty("requests").GetInt64();
                }
            }
        }
    }
}
