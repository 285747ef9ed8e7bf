using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>
/// The ancestor's incident, with each index in its place: 10,000 clients, each with 3 random of 5 shared channels and one channel of its
/// own; 100 of them leave and 100 others come each second, while messages are published on the shared channels. Prints the regression (the
/// index as it was) and its cures side by side, and judges the last one.
/// </summary>
internal static class IndexIncident
{
    private const int Clients = 10_000;
    private const int Shared = 5;
    private const int SharedPerClient = 3;
    private const int TurnoverPerSecond = 100;
    private const int MessagesPerSecond = 5_000;
    private static readonly string[] _channels =
        [.. Enumerable.Range(0, Shared).Select(static i => string.Create(CultureInfo.InvariantCulture, $"session.app{i}.stats"))];

    public static int Run(ReadOnlySpan<string> args)
    {
        if (!args.IsEmpty)
        {
            Console.Error.WriteLine("index-incident takes no arguments");
            return 2;
        }

        // Once unmeasured and small, so that everything is compiled.
        foreach (string name in RacedIndexes.Names)
        {
            _ = Measure(name, 1_000, TimeSpan.FromMilliseconds(200));
        }

        Console.WriteLine(
            $"{Clients} clients with {SharedPerClient} of {Shared} shared channels and one of their own; {TurnoverPerSecond} leave and as "
                + "many come each second");
        Console.WriteLine(
            $"| index | CPU µs per message at {MessagesPerSecond}/s | RemoveClient p50 µs | p99 µs | max µs | messages/s flat out "
                + "| messages per CPU second |");
        Console.WriteLine("|---|---|---|---|---|---|---|");
        var all = new Dictionary<string, IncidentFigures>();
        foreach (string name in RacedIndexes.Names)
        {
            IncidentFigures f = all[name] = Measure(name, Clients, TimeSpan.FromSeconds(2));
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"| {name} | {f.Cpu:F1} | {f.At(0.5):F2} | {f.At(0.99):F2} | {f.At(1):F0} | {f.Messages:F0} | {f.PerProcessor:F0} |"));
        }

        return Judge(all[RacedIndexes.AsItWas], all[RacedIndexes.Slots]);
    }

    private static int Judge(IncidentFigures was, IncidentFigures now)
    {
        bool isCured = now.Cpu < was.Cpu && now.At(0.99) < was.At(0.99) && now.PerProcessor > was.PerProcessor;
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{(isCured ? "cured" : "NOT cured")}: {was.Cpu / now.Cpu:F1} × less CPU, RemoveClient p99 "
                + $"{was.At(0.99) / now.At(0.99):F0} × shorter, {now.PerProcessor / was.PerProcessor:F1} × the messages per CPU second"));
        return isCured ? 0 : 1;
    }

    private static IncidentFigures Measure(string name, int clients, TimeSpan time)
    {
        var crowd = new Crowd(RacedIndexes.Create(name), clients);
        GC.Collect();
        GC.WaitForPendingFinalizers();

        TimeSpan before = Environment.CpuUsage.TotalTime;
        (long paced, _) = crowd.Run(time, MessagesPerSecond, TurnoverPerSecond);
        double cpu = (Environment.CpuUsage.TotalTime - before).TotalMicroseconds / paced;

        before = Environment.CpuUsage.TotalTime;
        long start = Stopwatch.GetTimestamp();
        (long messages, _) = crowd.Run(time, int.MaxValue, TurnoverPerSecond);
        double seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        double used = (Environment.CpuUsage.TotalTime - before).TotalSeconds;

        (_, double[] removals) = crowd.Run(time, int.MaxValue, int.MaxValue);
        return new IncidentFigures(cpu, removals, messages / seconds, messages / used);
    }

    /// <summary>The clients of one index.</summary>
    private sealed class Crowd
    {
        private readonly ISubscriptionIndex _index;
        private readonly BenchmarkClient[] _present;
        private readonly Random _random = new(1);
        private int _next;
        private long _joined;

        public Crowd(ISubscriptionIndex index, int clients)
        {
            _index = index;
            _present = new BenchmarkClient[clients];
            for (int i = 0; i < clients; i++)
            {
                _present[i] = Join();
            }
        }

        /// <summary>
        /// Publishes on a thread of its own and lets clients leave and come on this one. A rate without an end is flat out; otherwise
        /// each message and each client is due at a time that does not depend on those before.
        /// </summary>
        public (long Messages, double[] Removals) Run(TimeSpan time, int messagesPerSecond, int turnoverPerSecond)
        {
            long messages = 0;
            long start = Stopwatch.GetTimestamp();
            var publisher = new Thread(() => messages = Pace(start, time, messagesPerSecond, matches =>
            {
                _index.Get(_channels[_next++ % Shared], matches);
                foreach (Subscriber subscriber in matches)
                {
                    ((BenchmarkClient)subscriber).Delivered++;
                }
            }));
            publisher.Start();
            var removals = new List<double>();
            Pace(start, time, turnoverPerSecond, _ => removals.Add(Replace()));
            publisher.Join();
            return (messages, [.. removals.Order()]);
        }

        private static long Pace(long start, TimeSpan time, int perSecond, Action<SubscriberMatches> step)
        {
            var matches = new SubscriberMatches();
            long done = 0;
            while (Stopwatch.GetElapsedTime(start) is var elapsed && elapsed < time)
            {
                if (perSecond != int.MaxValue && done >= elapsed.TotalSeconds * perSecond)
                {
                    Thread.Sleep(1);
                    continue;
                }

                step(matches);
                done++;
            }

            return done;
        }

        /// <summary>A client leaves and another comes.</summary>
        /// <returns>How long the leaving took, in microseconds.</returns>
        private double Replace()
        {
            int which = _random.Next(_present.Length);
            long start = Stopwatch.GetTimestamp();
            int left = _index.RemoveClient(_present[which]);
            double taken = Stopwatch.GetElapsedTime(start).TotalMicroseconds;
            if (left != SharedPerClient + 1)
            {
                throw new InvalidOperationException($"A client left {left} channels.");
            }

            _present[which] = Join();
            return taken;
        }

        private BenchmarkClient Join()
        {
            var client = new BenchmarkClient();
            int first = _random.Next(Shared);
            for (int i = 0; i < SharedPerClient; i++)
            {
                // Neighbours on a circle, so that each channel has as many.
                _index.Add(client, _channels[(first + i) % Shared]);
            }

            _index.Add(client, string.Create(CultureInfo.InvariantCulture, $"client.{_joined++}.events"));
            return client;
        }
    }
}
