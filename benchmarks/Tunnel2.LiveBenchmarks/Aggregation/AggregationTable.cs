using System.Diagnostics;
using System.Globalization;
using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using SharedPipeline = Tunnel2.Laboratory.Aggregation.SplitPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash, Tunnel2.Laboratory.Aggregation.SharedSums>;
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
/// The published table: the cells of the Rust pipeline that the idea comes from (its figures beside ours), shared states in place of
/// partitions, and how busy router, workers and merge were. Every cell equals a single-threaded loop over the same records. Judges itself.
/// </summary>
internal sealed class AggregationTable
{
    private const int Few = 100_000;
    private const int Many = 10_000_000;
    private const int SumGroups = 10;
    private const int Sessions = 200;
    private const int Batch = 1000;

    /// <summary>Records a second of the Rust pipeline without partitions, and with 1 or 8.</summary>
    private const double AncestorWhole = 77_000;

    private const double AncestorPartitioned = 68_000;

    private static readonly int[] _partitions = [1, 2, 8, 16];
    private static readonly TimeSpan _warmUp = TimeSpan.FromMilliseconds(700);
    private static readonly TimeSpan _round = TimeSpan.FromMilliseconds(100);

    private readonly Dictionary<(string Job, int Records, string Way, int Partitions), double> _rates = [];
    private readonly List<Cell> _cells = [];
    private readonly int _rounds;
    private bool _holds = true;

    private AggregationTable(int rounds)
    {
        _rounds = rounds;
    }

    internal static int Run(int rounds)
    {
        var table = new AggregationTable(rounds);
        Console.WriteLine(
            $"{Environment.ProcessorCount} processors, best of {rounds} rounds in turns, batches of {Batch}; shares are of the time");
        Console.WriteLine();
        Console.WriteLine("| Job | Records | Way | Partitions | M records/s | × whole | × Rust | router | workers | merge |");
        Console.WriteLine("|---|---|---|---|---|---|---|---|---|---|");
        table.Sums(Few);
        table.Sums(Many);
        table.Windows(Few);
        table.Windows(Many);
        Console.WriteLine();
        return table.Judge() ? 0 : 1;
    }

    private void Sums(int count)
    {
        var records = new SumRecord[count];
        long[] oracle = new long[SumGroups];
        for (int i = 0; i < count; i++)
        {
            records[i] = new SumRecord(i % SumGroups, i % 100);
            oracle[i % SumGroups] += i % 100;
        }

        Add("SUM", count, "whole", 1, () =>
        {
            var state = new SumState(SumGroups);
            return Check(SumPipeline.RunFused(new MemorySource<SumRecord>(records, Batch), state), state.Sums, default);
        });
        foreach (int partitions in _partitions)
        {
            Add("SUM", count, "routed", partitions, () =>
            {
                SumState[] states = [.. Enumerable.Range(0, partitions).Select(_ => new SumState(SumGroups))];
                return Merge(SumPipeline.RunRouted(new MemorySource<SumRecord>(records, Batch), states, new PipelineOptions()), states);
            });
        }

        foreach (int partitions in _partitions)
        {
            Add("SUM", count, "split, merged", partitions, () =>
            {
                SumState[] states = [.. Enumerable.Range(0, partitions).Select(_ => new SumState(SumGroups))];
                return Merge(SumSplits.Run(Splits(partitions), states), states);
            });
        }

        foreach ((string name, Func<int, SharedSums> create) in SharedSums.Ways)
        {
            foreach (int partitions in _partitions)
            {
                Add("SUM", count, name, partitions, () =>
                {
                    using SharedSums shared = create(SumGroups);
                    PipelineReport report = SharedPipeline.Run(Splits(partitions), [.. Enumerable.Repeat(shared, partitions)]);
                    return Check(report, shared.Sums(), default);
                });
            }
        }

        MeasureJob();

        IReadOnlyList<IRecordSource<SumRecord>> Splits(int partitions) =>
        [
            .. Enumerable.Range(0, partitions).Select(i => new MemorySource<SumRecord>(
                records.AsMemory(From(i, partitions, count)..From(i + 1, partitions, count)), Batch)),
        ];

        (PipelineReport Report, TimeSpan Merging) Merge(PipelineReport report, SumState[] states)
        {
            long start = Stopwatch.GetTimestamp();
            Array.ForEach(states[1..], states[0].Merge);
            return Check(report, states[0].Sums, Stopwatch.GetElapsedTime(start));
        }

        (PipelineReport Report, TimeSpan Merging) Check(PipelineReport report, ReadOnlySpan<long> sums, TimeSpan merging) =>
            sums.SequenceEqual(oracle) && report.Records == count
                ? (report, merging)
                : throw new InvalidOperationException("The sums differ from the loop's.");
    }

    private void Windows(int count)
    {
        var random = new Random(1);
        var block = new RequestSample[20_000];
        for (int i = 0; i < block.Length; i++)
        {
            block[i] = new RequestSample(0, random.Next(Sessions), (uint)random.Next(100, 100_000), 100, 1000, 0);
        }

        long oracle = AggregationBenchmarks.Oracle(block, count);
        Add("windows", count, "whole", 1, () =>
        {
            var windows = new WindowMerger();
            return Merge(WindowPipeline.RunFused(Source(0, count), new WindowedState(windows)), [windows]);
        });
        foreach (int partitions in _partitions)
        {
            Add("windows", count, "routed", partitions, () =>
            {
                WindowMerger[] windows = [.. Enumerable.Range(0, partitions).Select(_ => new WindowMerger())];
                return Merge(WindowPipeline.RunRouted(Source(0, count), States(windows), new PipelineOptions()), windows);
            });
        }

        foreach (int partitions in _partitions)
        {
            Add("windows", count, "split, merged", partitions, () =>
            {
                WindowMerger[] windows = [.. Enumerable.Range(0, partitions).Select(_ => new WindowMerger())];
                IRecordSource<RequestSample>[] splits =
                [
                    .. Enumerable.Range(0, partitions).Select(
                        i => Source(From(i, partitions, count), From(i + 1, partitions, count))),
                ];
                return Merge(WindowSplits.Run(splits, States(windows)), windows);
            });
        }

        MeasureJob();

        AggregationBenchmarks.TimedSource Source(int from, int end) => new(block, from, end, count);

        static WindowedState[] States(WindowMerger[] windows) => [.. windows.Select(one => new WindowedState(one))];

        (PipelineReport Report, TimeSpan Merging) Merge(PipelineReport report, WindowMerger[] windows)
        {
            long start = Stopwatch.GetTimestamp();
            foreach (WindowMerger other in windows[1..])
            {
                windows[0].Absorb(other, key => key);
            }

            TimeSpan merging = Stopwatch.GetElapsedTime(start);
            long sum = windows[0].Results().Sum(
                w => w.Requests * (w.Key + 1) * w.Seconds * (w.StartUnixMicroseconds / 1_000_000 % 1000));
            return sum == oracle && report.Records == count
                ? (report, merging)
                : throw new InvalidOperationException("The windows differ from the loop's.");
        }
    }

    private static int From(int part, int parts, int count) => (int)((long)part * count / parts);

    /// <summary>Adds a cell to the job; <see cref="MeasureJob"/> measures it.</summary>
    private void Add(string job, int records, string way, int partitions, Func<(PipelineReport Report, TimeSpan Merging)> run) =>
        _cells.Add(new Cell(job, records, way, partitions, run));

    /// <summary>
    /// Measures the job's cells in turns, so that a minute in which the machine is slower (its memory too is shared with others) meets all
    /// cells alike. Prints their rows.
    /// </summary>
    private void MeasureJob()
    {
        foreach (Cell cell in _cells)
        {
            long began = Stopwatch.GetTimestamp();
            do
            {
                cell.Run();
            }
            while (Stopwatch.GetElapsedTime(began) < _warmUp);
        }

        for (int round = 0; round < _rounds; round++)
        {
            _cells.ForEach(static cell => cell.Measure());
        }

        _cells.ForEach(Print);
        _cells.Clear();
    }

    private void Print(Cell cell)
    {
        (string job, int records, string way, int partitions) = (cell.Job, cell.Records, cell.Way, cell.Partitions);
        (PipelineReport report, TimeSpan merging) = cell.Best!.Value;
        double seconds = (report.Elapsed + merging).TotalSeconds;
        double rate = records / seconds;
        double whole = way == "whole" ? rate : _rates[(job, records, "whole", 1)];
        _rates[(job, records, way, partitions)] = rate;
        string ancestor = job != "SUM" || records != Few ? ""
            : way == "whole" ? (rate / AncestorWhole).ToString("N0", CultureInfo.InvariantCulture)
            : way == "routed" && partitions is 1 or 8 ? (rate / AncestorPartitioned).ToString("N0", CultureInfo.InvariantCulture) : "";
        string workers = way is "whole" ? "" : string.Join(' ', Summed(report.WorkersBusy).Select(Share));
        string router = way == "routed" ? Share(report.RouterBusy) : "";
        string merge = way is "routed" or "split, merged" ? Share(merging) : "";
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"| {job} | {records:N0} | {way} | {partitions} | {rate / 1e6:0.0#} | {rate / whole:F2} | {ancestor} "
                + $"| {router} | {workers} | {merge} |"));

        string Share(TimeSpan busy) => $"{Math.Round(100 * busy.TotalSeconds / seconds)} %";

        // More than two: the least and the most.
        static TimeSpan[] Summed(TimeSpan[] busy) => busy.Length <= 2 ? busy : [busy.Min(), busy.Max()];
    }

    private bool Judge()
    {
        Expect("SUM, whole, M records/s", Rate("SUM", "whole", 1) / 1e6, 60);
        Expect("windows, whole, M records/s", Rate("windows", "whole", 1) / 1e6, 40);
        foreach (string job in new[] { "SUM", "windows" })
        {
            Expect($"{job}, split and merged, 2 beside 1", Rate(job, "split, merged", 2) / Rate(job, "split, merged", 1), 1.6);
            Expect($"{job}, split and merged, 8 beside 2", Rate(job, "split, merged", 8) / Rate(job, "split, merged", 2), 0.9);
            Expect($"{job}, routed, 8 beside 2", Rate(job, "routed", 8) / Rate(job, "routed", 2), 0.9);
        }

        foreach ((string name, _) in SharedSums.Ways)
        {
            Expect($"SUM, 2 partitions beside {name}", Rate("SUM", "split, merged", 2) / Rate("SUM", name, 2), 1);
        }

        return _holds;
    }

    private double Rate(string job, string way, int partitions) => _rates[(job, Many, way, partitions)];

    private void Expect(string what, double value, double least)
    {
        bool holds = value >= least;
        _holds &= holds;
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture, $"{(holds ? "holds" : "FAILS")}: {what}: {value:F2}, at least {least}"));
    }

    /// <summary>One row of the table, and its best round so far.</summary>
    private sealed record Cell(
        string Job, int Records, string Way, int Partitions, Func<(PipelineReport Report, TimeSpan Merging)> Run)
    {
        internal (PipelineReport Report, TimeSpan Merging)? Best { get; private set; }

        /// <summary>
        /// One round. It does not pay for the garbage of the cell before it, and is repeated for a while: ten million records take some
        /// 20 ms, so one interruption would decide.
        /// </summary>
        internal void Measure()
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            long began = Stopwatch.GetTimestamp();
            do
            {
                (PipelineReport Report, TimeSpan Merging) next = Run();
                if (Best is not { } best || next.Report.Elapsed + next.Merging < best.Report.Elapsed + best.Merging)
                {
                    Best = next;
                }
            }
            while (Stopwatch.GetElapsedTime(began) < _round);
        }
    }
}
