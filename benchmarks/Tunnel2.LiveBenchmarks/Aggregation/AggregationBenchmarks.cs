using System.Diagnostics;
using System.Globalization;
using Tunnel2.LiveBenchmarks.EventRing;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using SumPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Telemetry.Aggregation.SumRecord, Tunnel2.Telemetry.Aggregation.SumHash, Tunnel2.Telemetry.Aggregation.SumState>;
using WindowPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;

namespace Tunnel2.LiveBenchmarks.Aggregation;

/// <summary>
/// The aggregation jobs, always beside a single-threaded loop over the same records in the same run, whose result each run must equal. The
/// fastest and the median round are printed; the clock stops after the threads have been joined and the results merged.
/// </summary>
internal static class AggregationBenchmarks
{
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
            case "recorded":
                Recorded(Math.Min(records, 1 << 20), rounds, prefetch: false);
                Recorded(Math.Min(records, 1 << 20), rounds, prefetch: true);
                return 0;
            default:
                Console.Error.WriteLine("usage: aggregation sum|windowed|recorded [--records N] [--rounds N] (see README.md)");
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
            PipelineReport report = SumPipeline.RunSplit(
                [new MemorySource<SumRecord>(records.AsMemory(0, count / 2), 1000), new MemorySource<SumRecord>(records.AsMemory(count / 2), 1000)], states);
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

    private static PipelineReport Same(long[] sums, long[] oracle, PipelineReport report) =>
        sums.AsSpan().SequenceEqual(oracle) ? report : throw new InvalidOperationException("The sums differ from the oracle's.");

    private static void Windowed(int count, int groups, int rounds)
    {
        var random = new Random(1);
        var samples = new RequestSample[count];
        for (int i = 0; i < count; i++)
        {
            // 20 s of event time, in order: what is measured is counting and closing, not disorder.
            samples[i] = new RequestSample(
                1_767_225_600_000_000 + (i * 20_000_000L / count), random.Next(groups), (uint)random.Next(100, 100_000), 100, 1000, 0);
        }

        Console.WriteLine($"windowed, {count} records over 20 s of event time, {groups} groups");
        long expected = 0;
        double one = Report("1 partition, fused", count, rounds, 0, () => Windows(samples, 1, false, ref expected));
        Report("split + merge, 2", count, rounds, one, () => Windows(samples, 2, true, ref expected));
        foreach (int partitions in new[] { 1, 2, 8 })
        {
            Report($"routed, {partitions}", count, rounds, one, () => Windows(samples, partitions, false, ref expected, routed: true));
        }
    }

    private static PipelineReport Windows(RequestSample[] samples, int partitions, bool split, ref long expected, bool routed = false)
    {
        CheckSink[] sinks = [.. Enumerable.Range(0, partitions).Select(_ => new CheckSink())];
        WindowedState[] states = [.. sinks.Select(s => new WindowedState(s))];
        PipelineReport report = split
            ? WindowPipeline.RunSplit(
                [.. Enumerable.Range(0, partitions).Select(i => new TimedSource(samples.AsMemory(i * samples.Length / partitions, samples.Length / partitions)))], states)
            : routed
                ? WindowPipeline.RunRouted(new TimedSource(samples), states, new PipelineOptions())
                : WindowPipeline.RunFused(new TimedSource(samples), states[0]);
        long requests = sinks.Sum(s => s.Requests);
        long check = sinks.Sum(s => s.Check);
        expected = expected == 0 ? check : expected;
        return requests == 3L * samples.Length && check == expected
            ? report
            : throw new InvalidOperationException("The windows differ from those of one partition.");
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
            report = WindowPipeline.RunSplit(sources, states);
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
        run();
        run();
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
        string busy = best is null ? "" : string.Create(CultureInfo.InvariantCulture,
            $" router {best.RouterBusy.TotalMilliseconds:F1} ms, workers {string.Join('/', best.WorkersBusy.Select(w => w.TotalMilliseconds.ToString("F1", CultureInfo.InvariantCulture)))} ms of {best.Elapsed.TotalMilliseconds:F1}");
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"  {name,-20}{count / seconds[0] / 1e6,8:F1} M/s best {count / seconds[rounds / 2] / 1e6,8:F1} median{(baseline > 0 ? $"  x{baseline / seconds[0]:F2}" : "       "),8}{busy}"));
        return seconds[0];
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

    /// <summary>Samples in memory in order of time; the watermark follows the last of each batch.</summary>
    private sealed class TimedSource : IRecordSource<RequestSample>
    {
        private readonly ReadOnlyMemory<RequestSample> _samples;
        private int _at;

        internal TimedSource(ReadOnlyMemory<RequestSample> samples)
        {
            _samples = samples;
        }

        public long Watermark { get; private set; } = long.MinValue;

        public bool TryRead(out ReadOnlySpan<RequestSample> batch)
        {
            batch = _samples.Span.Slice(_at, Math.Min(1000, _samples.Length - _at));
            _at += batch.Length;
            if (batch.IsEmpty)
            {
                return false;
            }

            Watermark = batch[^1].EndedUnixMicroseconds;
            return true;
        }
    }
}
