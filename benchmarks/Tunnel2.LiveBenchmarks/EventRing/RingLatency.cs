using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.LiveBenchmarks.EventRing;

/// <summary>
/// Publish to seen, between two processes. Open loop: the producer stamps each record with the time at which it was due, so that its
/// own delays count. The hiccup meter spins idly on this process's thread and reports how long it was away.
/// </summary>
internal static class RingLatency
{
    internal static int Run(int rate, int seconds, bool blocked)
    {
        string path = $"/dev/shm/tunnel2-bench-{Environment.ProcessId}";
        using SharedEventRing ring = SharedEventRing.Create(path, new EventRingOptions());
        using EventRingReader reader = ring.CreateReader(new EventRingReaderOptions { SpinBeforeSleep = blocked ? 0 : 200 });
        LogLinearHistogram hiccups = Hiccups(TimeSpan.FromSeconds(1));
        using Process producer = Process.Start(Environment.ProcessPath!,
            [.. Self(), "ring", "latency-producer", path, "--rate", $"{rate}", "--seconds", $"{seconds}"]);
        var batch = new RingBatch(64, ring.MaxPayload);
        var histogram = new LogLinearHistogram();
        long total = (long)rate * seconds;
        long warm = rate; // The first second is the producer's compilation.
        long seen = 0;
        while (seen + reader.Missed < total)
        {
            if (reader.TryReadBatch(batch, out _) != RingReadStatus.Record)
            {
                if (blocked)
                {
                    reader.Wait(TimeSpan.FromSeconds(1));
                }

                if (producer.HasExited && reader.Lag == 0)
                {
                    break;
                }

                continue;
            }

            long now = Stopwatch.GetTimestamp();
            foreach (ref readonly RingEntry entry in batch.Entries)
            {
                if (seen++ >= warm)
                {
                    histogram.Add((uint)Math.Clamp(now - Unsafe.ReadUnaligned<long>(ref batch.Buffer[entry.Offset]), 0, uint.MaxValue));
                }
            }
        }

        producer.WaitForExit();
        File.Delete(path);
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{rate}/s {(blocked ? "blocked" : "spinning")}: p50 {Us(histogram, 0.5)} p99 {Us(histogram, 0.99)} p99.9 "
                + $"{Us(histogram, 0.999)} max {histogram.Max / 1000.0:F1} µs"
            + $"; seen {seen}, missed {reader.Missed} of {total}; hiccups p99.9 {Us(hiccups, 0.999)} max {hiccups.Max / 1000.0:F1} µs"));
        return seen + reader.Missed == total ? 0 : 1;
    }

    internal static int Produce(string path, int rate, int seconds)
    {
        if (SharedEventRing.TryOpen(path, new EventRingOptions(), writable: true, out SharedEventRing? ring) != EventRingOpenError.None)
        {
            return 1;
        }

        EventRingProducer producer = ring!.CreateProducer();
        byte[] payload = new byte[64];
        double interval = Stopwatch.Frequency / (double)rate;
        long started = Stopwatch.GetTimestamp();
        for (long i = 0; i < (long)rate * seconds; i++)
        {
            long due = started + (long)(i * interval);
            while (Stopwatch.GetTimestamp() < due)
            {
                Thread.SpinWait(1);
            }

            Unsafe.WriteUnaligned(ref payload[0], due);
            producer.TryPublish(1, payload);
        }

        return 0;
    }

    /// <summary>How this process starts itself again: under <c>dotnet</c> the assembly comes first.</summary>
    internal static string[] Self() =>
        Path.GetFileNameWithoutExtension(Environment.ProcessPath!) == "dotnet" ? [typeof(RingLatency).Assembly.Location] : [];

    private static string Us(LogLinearHistogram h, double q) => (h.Quantile(q) / 1000.0).ToString("F1", CultureInfo.InvariantCulture);

    private static LogLinearHistogram Hiccups(TimeSpan during)
    {
        var histogram = new LogLinearHistogram();
        long started = Stopwatch.GetTimestamp();
        long last = started;
        while (Stopwatch.GetElapsedTime(started) < during)
        {
            long now = Stopwatch.GetTimestamp();
            histogram.Add((uint)Math.Min(now - last, uint.MaxValue));
            last = now;
        }

        return histogram;
    }
}
