using System.Diagnostics;
using System.Globalization;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>
/// Races the strategies interleaved: every repetition runs each of them once, in rotating order, so that a slow second of the machine hits
/// all of them alike. Prints medians, and whether the chosen strategy holds what it must.
/// </summary>
internal static class StoreRace
{
    private const int RunsPerSample = 64;
    private const double Tolerance = 0.05;

    /// <summary>The framework's own collections come compiled in full; our code gets there after a second or so of use.</summary>
    private static readonly TimeSpan _warmup = TimeSpan.FromSeconds(2);

    public static int Run(ReadOnlySpan<string> args)
    {
        if (args.Length < 3
            || args[0] is not ("ancestor" or "alone")
            || !Enum.TryParse(args[1], ignoreCase: true, out StoreWorkload workload)
            || !int.TryParse(args[2], NumberStyles.None, CultureInfo.InvariantCulture, out int publishers)
            || publishers is not (2 or 4 or 8 or 16))
        {
            return Refuse();
        }

        int repetitions = 15;
        List<string> strategies = [.. StoreStrategy.Raced];
        foreach (string extra in args[3..])
        {
            if (int.TryParse(extra, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0)
            {
                repetitions = number;
            }
            else if (StoreStrategy.IsKnown(extra))
            {
                strategies.Add(extra);
            }
            else
            {
                return Refuse();
            }
        }

        Dictionary<string, double[]> samples = args[0] == "ancestor"
            ? Race(strategies, repetitions, strategy => SampleAncestor(strategy, workload, publishers))
            : RaceAlone(strategies, repetitions, workload, publishers);
        return Report($"{args[0]} {workload} P={publishers}", strategies, samples, args[0] == "ancestor" ? "µs/run" : "ns/operation");
    }

    private static int Refuse()
    {
        Console.Error.WriteLine(
            "store-race ancestor|alone SameKeys|DifferentKeys|MixedReadsAndWrites 2|4|8|16 [repetitions] "
                + "[more strategies: striped-1 … striped-16]");
        return 2;
    }

    private static Dictionary<string, double[]> RaceAlone(
        List<string> strategies, int repetitions, StoreWorkload workload, int publishers)
    {
        using var run = new AloneRun(workload, publishers);
        return Race(strategies, repetitions, strategy =>
        {
            run.Prepare(strategy);
            long start = Stopwatch.GetTimestamp();
            run.Run();
            double elapsed = Stopwatch.GetElapsedTime(start).TotalNanoseconds / AloneRun.Operations;
            run.Verify();
            return elapsed;
        });
    }

    private static double SampleAncestor(string strategy, StoreWorkload workload, int publishers)
    {
        var runs = new AncestorRun[RunsPerSample];
        for (int i = 0; i < runs.Length; i++)
        {
            runs[i] = new AncestorRun(strategy, workload, publishers);
        }

        GC.Collect();
        GC.WaitForPendingFinalizers();
        long start = Stopwatch.GetTimestamp();
        foreach (AncestorRun run in runs)
        {
            run.RunAsync().GetAwaiter().GetResult();
        }

        double elapsed = Stopwatch.GetElapsedTime(start).TotalMicroseconds / RunsPerSample;
        foreach (AncestorRun run in runs)
        {
            run.Verify();
        }

        return elapsed;
    }

    private static Dictionary<string, double[]> Race(List<string> strategies, int repetitions, Func<string, double> sample)
    {
        var samples = strategies.ToDictionary(strategy => strategy, _ => new double[repetitions]);
        long start = Stopwatch.GetTimestamp();
        int round = 0;
        while (round < 3 || Stopwatch.GetElapsedTime(start) < _warmup)
        {
            RunRound(round++, static (_, _) => { });
        }

        for (int repetition = 0; repetition < repetitions; repetition++)
        {
            RunRound(round++, (strategy, elapsed) => samples[strategy][repetition] = elapsed);
        }

        void RunRound(int shift, Action<string, double> report)
        {
            for (int i = 0; i < strategies.Count; i++)
            {
                string strategy = strategies[(i + shift) % strategies.Count];
                report(strategy, sample(strategy));
            }
        }

        return samples;
    }

    private static int Report(string title, List<string> strategies, Dictionary<string, double[]> samples, string unit)
    {
        foreach (double[] values in samples.Values)
        {
            Array.Sort(values);
        }

        double chosen = Median(samples[StoreStrategy.Chosen]);
        double noise = Math.Abs((Median(samples[StoreStrategy.ChosenAgain]) / chosen) - 1);
        double best = strategies.Where(strategy => StoreStrategy.StripesOf(strategy) == 0)
            .Min(strategy => Median(samples[strategy]));
        double allowed = best * (1 + Math.Max(Tolerance, noise));
        Console.WriteLine($"{title}, median of {samples[StoreStrategy.Chosen].Length} in {unit}");
        Console.WriteLine("| strategy | median | fastest | slowest |");
        Console.WriteLine("|---|---|---|---|");
        foreach (string strategy in strategies)
        {
            double[] values = samples[strategy];
            Console.WriteLine(FormattableString.Invariant($"| {strategy} | {Median(values):F1} | {values[0]:F1} | {values[^1]:F1} |"));
        }

        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{(chosen <= allowed ? "holds" : "FAILS")}: best other {best:F1}, allowed {allowed:F1} (A/A differs {noise:P1}); "
                + $"{Median(samples[StoreStrategy.Baseline]) / chosen:F2} x {StoreStrategy.Baseline}"));
        Console.WriteLine();
        return chosen <= allowed ? 0 : 1;
    }

    private static double Median(double[] sorted) => sorted[sorted.Length / 2];
}
