using System.Diagnostics;
using System.Globalization;
using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.LiveBenchmarks.EventRing;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using HeavyPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash,
    Tunnel2.LiveBenchmarks.Aggregation.AggregationBenchmarks.HeavyState>;
using SumPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash, Tunnel2.Laboratory.Aggregation.SumState>;
using SumSplits = Tunnel2.Laboratory.Aggregation.SplitPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash, Tunnel2.Laboratory.Aggregation.SumState>;
using WindowPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;
using WindowSplits = Tunnel2.Laboratory.Aggregation.SplitPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;

namespace Tunnel2.LiveBenchmarks.Aggregation;

/// <summary>
/// The aggregation jobs, always beside a single-threaded loop over the same records in the same run, whose result each run must equal. The
/// fastest and the median round are printed; the clock stops after the threads have been joined and the results merged.
/// </summary>
internal static class AggregationBenchmarks
{
    private static readonly TimeSpan _warmUp = TimeSpan.FromSeconds(1);

    internal static int Run(string[] args)
    {
        int records = RingBenchmarks.Option(args, "--records", 10_000_000);
        int rounds = RingBenchmarks.Option(args, "--rounds", 5);
        switch (args.Length > 0 ? args[0] : "")
        {
            case "sum":
                Sum(100_000, 10, rounds * 3);
                Array.ForEach([10, 200, 10_000], groups => Sum(records, groups, rounds));
                return 0;
            case "windowed":
                Array.ForEach([10, 200, 10_000], groups => Windowed(records, groups, rounds));
                return 0;
            case "heavy":
                Array.ForEach([8, 16, 32], steps => Heavy(records / 4, steps, rounds));
                return 0;
            case "recorded":
                Recorded(Math.Min(records, 1 << 20), rounds, prefetch: false);
                Recorded(Math.Min(records, 1 << 20), rounds, prefetch: true);
                return 0;
            case "stats":
                return RecordingBenchmark.Run(
                    RingBenchmarks.Option(args, "--megabytes", 2000), RingBenchmarks.Option(args, "--sessions", 200),
                    RingBenchmarks.Option(args, "--partitions", 2), rounds);
            case "table":
                return AggregationTable.Run(rounds);
            case "feed":
                return FeedBenchmark.Run(
                    RingBenchmarks.Option(args, "--sessions", 10_000), Math.Max(8, RingBenchmarks.Option(args, "--seconds", 10)), [1, 2]);
            default:
                Console.Error.WriteLine(
                    "usage: aggregation sum|heavy|windowed|recorded|stats|feed|table [--records N] [--rounds N] (see README.md)");
                return 2;
        }
    }

    private static void Sum(int count, int groups, int rounds)
    {
        var records = new SumRecord[count];
        for (int i = 0; i < count; i++)
        {
            records[i] = new SumRecord(i % groups, i % 100);
        }

        Console.WriteLine($"SUM, {count} records, {groups} groups, batches of 1000");
        long[] oracle = new long[groups];
        double baseline = Report("oracle, one loop", count, rounds, 0, () =>
        {
            Array.Clear(oracle);
            foreach (ref readonly SumRecord r in records.AsSpan())
            {
                oracle[r.Group] += r.Value;
            }

            return null;
        });
        double one = Report("1 partition, fused", count, rounds, baseline, () =>
        {
            var state = new SumState(groups);
            PipelineReport report = SumPipeline.RunFused(new MemorySource<SumRecord>(records, 1000), state);
            return Same(state.Sums, oracle, report);
        });
        Report("split + merge, 2", count, rounds, one, () =>
        {
            SumState[] states = [new SumState(groups), new SumState(groups)];
            PipelineReport report = SumSplits.Run(
                [
                    new MemorySource<SumRecord>(records.AsMemory(0, count / 2), 1000),
                    new MemorySource<SumRecord>(records.AsMemory(count / 2), 1000),
                ],
                states);
            states[0].Merge(states[1]);
            return Same(states[0].Sums, oracle, report);
        });
        foreach (int partitions in new[] { 1, 2, 8 })
        {
            Report($"routed, {partitions}", count, rounds, one, () =>
            {
                SumState[] states = [.. Enumerable.Range(0, partitions).Select(_ => new SumState(groups))];
                PipelineReport report = SumPipeline.RunRouted(new MemorySource<SumRecord>(records, 1000), states, new PipelineOptions());
                for (int i = 1; i < partitions; i++)
                {
                    states[0].Merge(states[i]);
                }

                return Same(states[0].Sums, oracle, report);
            });
        }
    }

    /// <summary>The router where a record's work is about one nanosecond times <paramref name="steps"/>, or more.</summary>
    private static void Heavy(int count, int steps, int rounds)
    {
        var records = new SumRecord[count];
        for (int i = 0; i < count; i++)
        {
            records[i] = new SumRecord(i % 200, i % 100);
        }

        Console.WriteLine($"{steps} dependent steps a record, {count} records, 200 groups");
        long expected = 0;
        double one = Report("1 partition, fused", count, rounds, 0, () =>
        {
            var state = new HeavyState(steps);
            PipelineReport report = HeavyPipeline.RunFused(new MemorySource<SumRecord>(records, 1000), state);
            expected = state.Sum;
            return report;
        });
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"  work: {one / count * 1e9:F1} ns a record"));
        foreach (int partitions in new[] { 2, 8 })
        {
            Report($"routed, {partitions}", count, rounds, one, () =>
            {
                HeavyState[] states = [.. Enumerable.Range(0, partitions).Select(_ => new HeavyState(steps))];
                PipelineReport report = HeavyPipeline.RunRouted(new MemorySource<SumRecord>(records, 1000), states, new PipelineOptions());
                return states.Sum(s => s.Sum) == expected ? report : throw new InvalidOperationException("The sums differ.");
            });
        }
    }

    private static PipelineReport Same(ReadOnlySpan<long> sums, long[] oracle, PipelineReport report) =>
        sums.SequenceEqual(oracle) ? report : throw new InvalidOperationException("The sums differ from the oracle's.");

    private static void Windowed(int count, int groups, int rounds)
    {
        var random = new Random(1);
        var block = new RequestSample[20_000];
        for (int i = 0; i < block.Length; i++)
        {
            block[i] = new RequestSample(0, random.Next(groups), (uint)random.Next(100, 100_000), 100, 1000, 0);
        }

        Console.WriteLine($"windowed, {count} records over 20 s of event time, {groups} groups");
        long expected = Oracle(block, count);
        double one = Report("1 partition, fused", count, rounds, 0, () => Windows(block, count, 1, false, expected));
        Report("split + merge, 2", count, rounds, one, () => Windows(block, count, 2, true, expected));
        foreach (int partitions in new[] { 1, 2, 8 })
        {
            Report($"routed, {partitions}", count, rounds, one, () => Windows(block, count, partitions, false, expected, routed: true));
        }
    }

    /// <summary>What <see cref="CheckSink"/> must come to, by plain counting.</summary>
    internal static long Oracle(RequestSample[] block, int count)
    {
        var requests = new Dictionary<(int Seconds, long Start, int Key), long>();
        var source = new TimedSource(block, 0, count, count);
        while (source.TryRead(out ReadOnlySpan<RequestSample> batch))
        {
            foreach (RequestSample sample in batch)
            {
                long second = sample.EndedUnixMicroseconds / 1_000_000;
                foreach (int length in new[] { 1, 10, 60 })
                {
                    (int, long, int) window = (length, second / length * length, sample.Key);
                    requests[window] = requests.GetValueOrDefault(window) + 1;
                }
            }
        }

        return requests.Sum(r => r.Value * (r.Key.Key + 1) * r.Key.Seconds * (r.Key.Start % 1000));
    }

    private static PipelineReport Windows(RequestSample[] block, int count, int partitions, bool split, long expected, bool routed = false)
    {
        CheckSink[] sinks = [.. Enumerable.Range(0, partitions).Select(_ => new CheckSink())];
        WindowedState[] states = [.. sinks.Select(s => new WindowedState(s))];
        PipelineReport report = split
            ? WindowSplits.Run(
                [
                    .. Enumerable.Range(0, partitions).Select(
                        i => new TimedSource(block, (int)((long)i * count / partitions), (int)((i + 1L) * count / partitions), count)),
                ],
                states)
            : routed
                ? WindowPipeline.RunRouted(new TimedSource(block, 0, count, count), states, new PipelineOptions())
                : WindowPipeline.RunFused(new TimedSource(block, 0, count, count), states[0]);
        long requests = sinks.Sum(s => s.Requests);
        long check = sinks.Sum(s => s.Check);
        return requests == 3L * count && check == expected
            ? report
            : throw new InvalidOperationException("The windows differ from the oracle's.");
    }

    /// <summary>The whole job: recorded ring, checksums, decoding, session names, watermark, windows, histograms.</summary>
    private static void Recorded(int count, int rounds, bool prefetch)
    {
        string path = $"/dev/shm/tunnel2-bench-{Environment.ProcessId}";
        using SharedEventRing ring = SharedEventRing.Create(path, new EventRingOptions { Capacity = 1 << 20 });
        EventRingProducer producer = ring.CreateProducer();
        var random = new Random(1);
        byte[][] names = [.. Enumerable.Range(0, 200).Select(i => System.Text.Encoding.ASCII.GetBytes($"session-{i:D4}"))];
        for (int i = 0; i < count; i++)
        {
            producer.TryClaim(out RingClaim claim);
            var record = new RequestRecord
            {
                SessionName = names[random.Next(names.Length)],
                Target = "/api/v1/items?page=2"u8,
                StartedUnixMicroseconds = 1_767_225_600_000_000 + (i * 20L),
                TotalMicroseconds = (uint)random.Next(100, 100_000),
                BytesOut = 1000,
                Status = 200,
            };
            claim.Commit((ushort)RecordType.Request, RequestRecordCodec.Encode(claim.Payload, record));
        }

        Console.WriteLine($"recorded ring, {count} records, 200 sessions, {(prefetch ? "reading ahead" : "reading in place")}");
        double one = Report("1 partition, fused", count, rounds, 0, () => Job(ring, count, 1, 1, prefetch));
        if (!prefetch)
        {
            Report("split, 2", count, rounds, one, () => Job(ring, count, 2, 2, false));
        }

        Report("routed, 2", count, rounds, one, () => Job(ring, count, 1, 2, prefetch));
        Report("routed, 8", count, rounds, one, () => Job(ring, count, 1, 8, prefetch));
        File.Delete(path);
    }

    private static PipelineReport Job(SharedEventRing ring, int count, int splits, int partitions, bool prefetch)
    {
        RingRequestSource[] sources = [.. Enumerable.Range(0, splits).Select(i => new RingRequestSource(
            ring,
            ring.CreateReader(new EventRingReaderOptions { From = (long)i * count / splits }),
            new RequestIntake(new WatermarkFilter()),
            1000,
            (long)(i + 1) * count / splits))];
        CheckSink[] sinks = [.. Enumerable.Range(0, partitions).Select(_ => new CheckSink())];
        WindowedState[] states = [.. sinks.Select(s => new WindowedState(s))];
        PipelineReport report;
        if (splits > 1)
        {
            report = WindowSplits.Run(sources, states);
        }
        else
        {
            using PrefetchingSource<RequestSample>? ahead = prefetch ? new PrefetchingSource<RequestSample>(sources[0], 1000) : null;
            IRecordSource<RequestSample> source = (IRecordSource<RequestSample>?)ahead ?? sources[0];
            report = partitions == 1
                ? WindowPipeline.RunFused(source, states[0])
                : WindowPipeline.RunRouted(source, states, new PipelineOptions());
        }

        return sinks.Sum(s => s.Requests) == 3L * count && report.Records == count
            ? report
            : throw new InvalidOperationException("Records are missing from the windows.");
    }

    private static double Report(string name, int count, int rounds, double baseline, Func<PipelineReport?> run)
    {
        // Long enough for the last tier: code that is compiled beside a round takes one of the two cores from it.
        for (long began = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(began) < _warmUp;)
        {
            run();
        }

        double[] seconds = new double[rounds];
        PipelineReport? best = null;
        for (int i = 0; i < rounds; i++)
        {
            long start = Stopwatch.GetTimestamp();
            PipelineReport? report = run();
            seconds[i] = Stopwatch.GetElapsedTime(start).TotalSeconds;
            if (best is null || report?.Elapsed < best.Elapsed)
            {
                best = report;
            }
        }

        Array.Sort(seconds);
        string busy = "";
        if (best is not null)
        {
            string workers = string.Join(
                '/', best.WorkersBusy.Select(w => w.TotalMilliseconds.ToString("F1", CultureInfo.InvariantCulture)));
            busy = string.Create(CultureInfo.InvariantCulture,
                $" router {best.RouterBusy.TotalMilliseconds:F1} ms, workers {workers} ms of {best.Elapsed.TotalMilliseconds:F1}");
        }

        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"  {name,-20}{count / seconds[0] / 1e6,8:F1} M/s best {count / seconds[rounds / 2] / 1e6,8:F1} "
                + $"median{(baseline > 0 ? $"  x{baseline / seconds[0]:F2}" : "       "),8}{busy}"));
        return seconds[0];
    }

    /// <summary>Work that cannot be overlapped within a record.</summary>
    internal sealed class HeavyState(int steps) : IPartitionState<SumRecord>
    {
        internal long Sum { get; private set; }

        public void Process(ReadOnlySpan<SumRecord> batch)
        {
            long sum = Sum;
            foreach (ref readonly SumRecord record in batch)
            {
                // Each record starts from the sum's sign, which is always 0: no two records overlap either.
                uint value = (uint)record.Value + (uint)(sum >>> 63);
                for (int i = 0; i < steps; i++)
                {
                    value = System.Numerics.BitOperations.Crc32C(value, (uint)record.Group);
                }

                sum += value;
            }

            Sum = sum;
        }

        public void AdvanceTo(long watermark) => _ = watermark;

        public void Complete() => _ = Sum;
    }

    /// <summary>Adds up what windows of every length say; all partitions together must say the same.</summary>
    private sealed class CheckSink : IWindowSink
    {
        internal long Requests { get; private set; }

        internal long Check { get; private set; }

        public void OnWindow(int key, long start, int seconds, WindowCell cell)
        {
            Requests += cell.Requests;
            Check += cell.Requests * (key + 1) * seconds * (start / 1_000_000 % 1000);
        }
    }

    /// <summary>
    /// Records <paramref name="from"/> to <paramref name="end"/> of a run: a block that fits the second-level cache, over and over, at
    /// rising times. An array of all the records would measure the memory's bandwidth, which two cores share.
    /// </summary>
    internal sealed class TimedSource(RequestSample[] block, int from, int end, int total) : IRecordSource<RequestSample>
    {
        private readonly RequestSample[] _batch = new RequestSample[1000];
        private readonly long _step = 20_000_000L / total;
        private int _at = from;

        public long Watermark { get; private set; } = long.MinValue;

        public bool TryRead(out ReadOnlySpan<RequestSample> batch)
        {
            int start = _at % block.Length;
            int count = Math.Min(Math.Min(_batch.Length, block.Length - start), end - _at);
            long time = 1_767_225_600_000_000 + (_at * _step);
            for (int i = 0; i < count; i++, time += _step)
            {
                _batch[i] = block[start + i] with { EndedUnixMicroseconds = time };
            }

            _at += count;
            Watermark = time - _step;
            batch = _batch.AsSpan(0, count);
            return count > 0;
        }
    }
}
