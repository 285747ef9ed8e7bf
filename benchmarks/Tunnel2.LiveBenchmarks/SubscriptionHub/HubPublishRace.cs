using System.Diagnostics;
using System.Globalization;
using Tunnel2.LiveBenchmarks.MessageStore;

namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>
/// How long <c>Hub.Publish</c> takes while 1, 2 or 4 threads publish to one channel, for each lock strategy in its store. The strategies
/// run interleaved, in rotating order; medians over the repetitions. See <see cref="HubPublishRun"/>.
/// </summary>
internal static class HubPublishRace
{
    /// <summary>A strategy that runs twice, to show how far two rows of this table can differ by chance.</summary>
    private const string Again = " (A/A)";

    private const int Deliveries = 400_000;

    private static readonly int[] _publishers = [1, 2, 4];

    private static readonly string[] _strategies =
    [
        StoreStrategy.Baseline, StoreStrategy.Baseline + Again, StoreStrategy.ConcurrentSet, StoreStrategy.ConcurrentUpdate,
        StoreStrategy.ReaderWriterLock, "striped-1", "striped-2", "striped-4", "striped-8", "striped-16",
    ];

    public static int Run(ReadOnlySpan<string> args)
    {
        int[] numbers = [9, 8];
        for (int i = 0; i < args.Length; i++)
        {
            if (i >= numbers.Length
                || !int.TryParse(args[i], NumberStyles.None, CultureInfo.InvariantCulture, out numbers[i])
                || numbers[i] == 0)
            {
                Console.Error.WriteLine("hub-publish [repetitions, 9] [subscribers, 8]");
                return 2;
            }
        }

        Race(numbers[0], numbers[1]);
        return 0;
    }

    private static void Race(int repetitions, int subscribers)
    {
        int messages = Math.Max(Deliveries / subscribers, 4_000);
        var samples = new Dictionary<(string Strategy, int Publishers), List<Sample>>();
        for (int round = -1; round < repetitions; round++)
        {
            for (int i = 0; i < _strategies.Length; i++)
            {
                string strategy = _strategies[(i + round + _strategies.Length) % _strategies.Length];
                using var run = new HubPublishRun(strategy.Replace(Again, "", StringComparison.Ordinal), subscribers, messages);
                foreach (int publishers in _publishers)
                {
                    Sample sample = Measure(run, publishers, messages);
                    if (round >= 0)
                    {
                        samples.TryAdd((strategy, publishers), []);
                        samples[(strategy, publishers)].Add(sample);
                    }
                }
            }
        }

        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{subscribers} subscribers, {messages} messages a run, medians of {repetitions} runs: "
                + $"p50 / p99 / p99.9 of a publish in µs | messages/s, processor µs per message with sending and receiving"));
        Console.WriteLine($"| strategy | {string.Join(" | ", _publishers.Select(p => $"{p} publishing | messages/s, CPU"))} |");
        Console.WriteLine($"|---|{string.Concat(_publishers.Select(_ => "---|---|"))}");
        foreach (string strategy in _strategies)
        {
            Console.WriteLine($"| {strategy} | {string.Join(" | ", _publishers.Select(p => Cell(samples[(strategy, p)])))} |");
        }
    }

    private static Sample Measure(HubPublishRun run, int publishers, int messages)
    {
        (long[] ticks, TimeSpan elapsed, TimeSpan processor) = run.Publish(publishers, messages);
        Array.Sort(ticks);
        return new Sample(
            Quantile(0.5),
            Quantile(0.99),
            Quantile(0.999),
            ticks.Length / elapsed.TotalSeconds,
            processor.TotalMicroseconds / ticks.Length);

        double Quantile(double q) => ticks[(int)(ticks.Length * q)] * 1e6 / Stopwatch.Frequency;
    }

    private static string Cell(List<Sample> samples)
    {
        return string.Create(
            CultureInfo.InvariantCulture,
            $"{Median(s => s.P50):F1} / {Median(s => s.P99):F1} / {Median(s => s.P999):F0} | "
                + $"{Median(s => s.Rate) / 1000:F0} k, {Median(s => s.Processor):F1}");

        double Median(Func<Sample, double> value) => samples.Select(value).Order().ElementAt(samples.Count / 2);
    }

    /// <summary>Of one run: quantiles in microseconds, messages per second, and microseconds of processor time per message.</summary>
    private sealed record Sample(double P50, double P99, double P999, double Rate, double Processor);
}
