using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>
/// Races the indexes: 10,000 clients with 3 random channels each join, messages look their subscribers up, and clients leave and others
/// join while a publisher looks up and walks as fast as it can.
/// </summary>
internal static class IndexRace
{
    private const int Clients = 10_000;
    private const int ChannelsPerClient = 3;
    private const int Lookups = 1_000_000;
    private const int Removals = 20_000;
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(4);
    private static readonly string[] _strategies = [.. RacedIndexes.Names, "slots (A/A)", "slots + patterns"];

    public static int Run(ReadOnlySpan<string> args)
    {
        if (args.Length > 1
            || !int.TryParse(args.Length == 0 ? "5" : args[0], NumberStyles.None, CultureInfo.InvariantCulture, out int channelCount)
            || channelCount is < 3 or > 100_000)
        {
            Console.Error.WriteLine("index-race [channels, 3 to 100000; 5 if not given]");
            return 2;
        }

        string[] channels =
        [
            .. Enumerable.Range(0, channelCount).Select(i => string.Create(CultureInfo.InvariantCulture, $"session.app{i}.stats")),
        ];

        // Once unmeasured and small, so that everything is compiled.
        foreach (string strategy in _strategies)
        {
            _ = Measure(strategy, channels, clients: 1_000, lookups: 50_000, removals: 2_000);
        }

        Console.WriteLine(
            $"{Clients} clients with {ChannelsPerClient} of {channelCount} channels each; one publisher flat out during the removals");
        Console.WriteLine(
            "| index | Add ns | Get ns | Get B | walk ns/subscriber | RemoveClient p50 µs | p99 µs | p99.9 µs | max µs | removals | "
                + "deliveries M/s |");
        Console.WriteLine("|---|---|---|---|---|---|---|---|---|---|---|");
        foreach (string strategy in _strategies)
        {
            IndexFigures f = Measure(strategy, channels, Clients, Lookups, Removals);
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"| {strategy} | {f.AddNanoseconds:F0} | {f.GetNanoseconds:F1} | {f.GetBytes} | {f.WalkNanoseconds:F2} | {f.At(0.5):F2} "
                    + $"| {f.At(0.99):F2} | {f.At(0.999):F1} | {f.At(1):F0} | {f.Removals.Length} | {f.DeliveriesPerSecond / 1e6:F0} |"));
        }

        return 0;
    }

    private static IndexFigures Measure(string strategy, string[] channels, int clients, int lookups, int removals)
    {
        var random = new Random(1);
        ISubscriptionIndex index = RacedIndexes.Create(strategy);
        if (strategy == "slots + patterns")
        {
            // What dashboards do: a few look at everything of one kind, and some at everything of one session.
            index.Add(new BenchmarkClient(), "session.*.stats");
            index.Add(new BenchmarkClient(), "node.>");
            for (int i = 0; i < 20; i++)
            {
                index.Add(new BenchmarkClient(), string.Create(CultureInfo.InvariantCulture, $"session.app{i}.>"));
            }
        }

        var present = new BenchmarkClient[clients];
        var wanted = new string[clients * ChannelsPerClient];
        for (int i = 0; i < clients; i++)
        {
            present[i] = new BenchmarkClient();
            PickChannels(random, channels, wanted.AsSpan(i * ChannelsPerClient, ChannelsPerClient));
        }

        Collect();
        long start = Stopwatch.GetTimestamp();
        for (int i = 0; i < wanted.Length; i++)
        {
            index.Add(present[i / ChannelsPerClient], wanted[i]);
        }

        double add = Stopwatch.GetElapsedTime(start).TotalNanoseconds / wanted.Length;
        (double get, long bytes) = MeasureGet(index, channels, RacedIndexes.Copies(strategy) ? lookups / 100 : lookups);
        double walk = MeasureWalk(index, channels, lookups);
        return MeasureRemovals(index, channels, present, removals, random) with
        {
            AddNanoseconds = add,
            GetNanoseconds = get,
            GetBytes = bytes,
            WalkNanoseconds = walk,
        };
    }

    private static (double Nanoseconds, long Bytes) MeasureGet(ISubscriptionIndex index, string[] channels, int lookups)
    {
        var matches = new SubscriberMatches();
        foreach (string channel in channels)
        {
            index.Get(channel, matches);
        }

        long allocated = GC.GetAllocatedBytesForCurrentThread();
        long start = Stopwatch.GetTimestamp();
        int next = 0;
        for (int i = 0; i < lookups; i++)
        {
            index.Get(channels[next], matches);
            next = next + 1 == channels.Length ? 0 : next + 1;
        }

        double elapsed = Stopwatch.GetElapsedTime(start).TotalNanoseconds / lookups;
        return (elapsed, (GC.GetAllocatedBytesForCurrentThread() - allocated) / lookups);
    }

    private static double MeasureWalk(ISubscriptionIndex index, string[] channels, int atLeast)
    {
        var matches = new SubscriberMatches();
        long found = 0;
        long start = Stopwatch.GetTimestamp();
        for (int i = 0; found < atLeast; i++)
        {
            index.Get(channels[i % channels.Length], matches);
            found += Walk(matches);
        }

        return Stopwatch.GetElapsedTime(start).TotalNanoseconds / found;
    }

    private static IndexFigures MeasureRemovals(
        ISubscriptionIndex index, string[] channels, BenchmarkClient[] present, int removals, Random random)
    {
        bool stop = false;
        long delivered = 0;
        using var started = new ManualResetEventSlim();
        var publisher = new Thread(() =>
        {
            var matches = new SubscriberMatches();
            for (int i = 0; !Volatile.Read(ref stop); i++)
            {
                index.Get(channels[i % channels.Length], matches);
                delivered += Walk(matches);
                if (i == 0)
                {
                    started.Set();
                }
            }
        });
        Collect();
        publisher.Start();
        started.Wait();

        var samples = new List<double>(removals);
        var wanted = new string[ChannelsPerClient];
        long begin = Stopwatch.GetTimestamp();
        while (samples.Count < removals && Stopwatch.GetElapsedTime(begin) < _limit)
        {
            int which = random.Next(present.Length);
            long start = Stopwatch.GetTimestamp();
            int left = index.RemoveClient(present[which]);
            samples.Add(Stopwatch.GetElapsedTime(start).TotalMicroseconds);
            if (left != ChannelsPerClient)
            {
                throw new InvalidOperationException($"A client left {left} channels.");
            }

            present[which] = new BenchmarkClient();
            PickChannels(random, channels, wanted);
            foreach (string channel in wanted)
            {
                index.Add(present[which], channel);
            }
        }

        TimeSpan elapsed = Stopwatch.GetElapsedTime(begin);
        Volatile.Write(ref stop, true);
        publisher.Join();
        double[] sorted = [.. samples.Order()];
        return new IndexFigures { Removals = sorted, DeliveriesPerSecond = delivered / elapsed.TotalSeconds };
    }

    private static int Walk(SubscriberMatches matches)
    {
        int count = 0;
        foreach (Subscriber subscriber in matches)
        {
            ((BenchmarkClient)subscriber).Delivered++;
            count++;
        }

        return count;
    }

    private static void PickChannels(Random random, string[] channels, Span<string> picked)
    {
        for (int i = 0; i < picked.Length; i++)
        {
            do
            {
                picked[i] = channels[random.Next(channels.Length)];
            }
            while (picked[..i].Contains(picked[i]));
        }
    }

    private static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }
}
