using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.LiveBenchmarks.EventRing;

/// <summary>
/// Publish + poll beside the C reference: rounds of both alternate, so that a disturbance meets both; the fastest and the median round
/// of each are printed. Every record's content is checked.
/// </summary>
internal static class RingCompare
{
    private const int Batch = 32;

    internal static int Run(int records, int rounds)
    {
        string reference = Path.Combine(AppContext.BaseDirectory, "event_ring");
        string? source = FindSource();
        bool compare = source is not null && Build(source, reference);
        Console.WriteLine(
            $"{"case",-22}{"ours min",10}{"median",10}{"C min",10}{"median",10}{"min/min",10}   (ns per record, {rounds} rounds of "
                + $"{records})");
        Case[] cases =
        [
            new("lockstep", 8, true), new("lockstep", 8, false), new("lockstep", 64, true), new("lockstep", 200, true),
            new("batch", 8, true), new("batch", 200, true), new("producers", 8, true),
        ];
        foreach (Case c in cases)
        {
            double[] ours = new double[rounds];
            double[] theirs = new double[rounds];
            WarmUp(c, records);
            for (int i = 0; i < rounds; i++)
            {
                ours[i] = Measure(c, records);
                theirs[i] = compare ? RunReference(reference, c, records) : double.NaN;
            }

            Array.Sort(ours);
            Array.Sort(theirs);
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"{c,-22}{ours[0],10:F1}{ours[rounds / 2],10:F1}{theirs[0],10:F1}{theirs[rounds / 2],10:F1}{ours[0] / theirs[0],10:F2}"));
        }

        return 0;
    }

    /// <summary>
    /// The last tier is compiled in the background, a while after nothing new has been compiled: rounds without it measure code that no
    /// long-lived process runs.
    /// </summary>
    private static void WarmUp(Case c, int records)
    {
        for (long began = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(began) < TimeSpan.FromSeconds(1.5);)
        {
            Measure(c, records);
        }
    }

    private static double Measure(Case c, int records) => c.Shape switch
    {
        "lockstep" => Lockstep(c, records),
        "batch" => Batched(c, records),
        _ => Producers(c, records),
    };

    private static SharedEventRing Create(Case c) =>
        SharedEventRing.Create(Path.Combine("/dev/shm", $"tunnel2-bench-{Environment.ProcessId}"), new EventRingOptions
        {
            Capacity = 4096,
            Checksum = c.Checksum,
        });

    private static double Lockstep(Case c, int records)
    {
        using SharedEventRing ring = Create(c);
        EventRingProducer producer = ring.CreateProducer();
        using EventRingReader reader = ring.CreateReader(new EventRingReaderOptions());
        return Lockstep(producer, reader, new byte[c.Payload], new byte[ring.MaxPayload], records);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static double Lockstep(EventRingProducer producer, EventRingReader reader, byte[] payload, byte[] received, int records)
    {
        long sum = 0;
        long started = Stopwatch.GetTimestamp();
        for (long i = 0; i < records; i++)
        {
            Unsafe.WriteUnaligned(ref payload[0], i);
            producer.TryPublish(1, payload);
            if (reader.TryRead(received, out _, out _) != RingReadStatus.Record)
            {
                throw new InvalidOperationException("A record is missing.");
            }

            sum += Unsafe.ReadUnaligned<long>(ref received[0]);
        }

        return Finish(started, records, sum);
    }

    private static double Batched(Case c, int records)
    {
        using SharedEventRing ring = Create(c);
        EventRingProducer producer = ring.CreateProducer();
        using EventRingReader reader = ring.CreateReader(new EventRingReaderOptions());
        return Batched(producer, reader, new RingBatch(Batch, ring.MaxPayload), new RingBatch(Batch, ring.MaxPayload), c.Payload, records);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static double Batched(
        EventRingProducer producer, EventRingReader reader, RingBatch sent, RingBatch received, int payload, int records)
    {
        long sum = 0;
        for (int i = 0; i < Batch; i++)
        {
            sent.TryAdd(1, new byte[payload]);
        }

        byte[] outgoing = sent.Buffer;
        byte[] incoming = received.Buffer;
        records -= records % Batch;
        long started = Stopwatch.GetTimestamp();
        for (long i = 0; i < records; i += Batch)
        {
            // As the reference: the payloads are written in place, the publish copies them.
            long number = i;
            foreach (ref readonly RingEntry entry in sent.Entries)
            {
                Unsafe.WriteUnaligned(ref outgoing[entry.Offset], number++);
            }

            producer.TryPublishBatch(sent);
            if (reader.TryReadBatch(received, out _) != RingReadStatus.Record || received.Count != Batch)
            {
                throw new InvalidOperationException("A record is missing.");
            }

            foreach (ref readonly RingEntry entry in received.Entries)
            {
                sum += Unsafe.ReadUnaligned<long>(ref incoming[entry.Offset]);
            }
        }

        return Finish(started, records, sum);
    }

    /// <summary>Three threads publish flat out while one reads; the reader must account for every number.</summary>
    private static double Producers(Case c, int records)
    {
        using SharedEventRing ring = Create(c);
        EventRingProducer producer = ring.CreateProducer();
        using EventRingReader reader = ring.CreateReader(new EventRingReaderOptions());
        long started = Stopwatch.GetTimestamp();
        Thread[] threads = [.. Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            byte[] payload = new byte[c.Payload];
            for (int i = 0; i < records; i++)
            {
                producer.TryPublish(1, payload);
            }
        }))];
        Array.ForEach(threads, t => t.Start());
        byte[] received = new byte[ring.MaxPayload];
        long seen = 0;
        while (seen + reader.Missed < 3L * records)
        {
            if (reader.TryRead(received, out _, out _) == RingReadStatus.Record)
            {
                seen++;
            }
        }

        Array.ForEach(threads, t => t.Join());
        return Stopwatch.GetElapsedTime(started).TotalNanoseconds / (3.0 * records);
    }

    private static double Finish(long started, long records, long sum)
    {
        double elapsed = Stopwatch.GetElapsedTime(started).TotalNanoseconds;
        return sum == records * (records - 1) / 2 ? elapsed / records : throw new InvalidOperationException("The contents differ.");
    }

    private static string? FindSource()
    {
        for (string? at = AppContext.BaseDirectory; at is not null; at = Path.GetDirectoryName(at))
        {
            string candidate = Path.Combine(at, "benchmarks", "event-ring-c", "event_ring.c");
            if (File.Exists(candidate))
            {
                return candidate;
            }
        }

        return null;
    }

    private static bool Build(string source, string output)
    {
        try
        {
            using Process gcc = Process.Start("gcc", ["-O2", "-march=native", "-pthread", "-o", output, source]);
            gcc.WaitForExit();
            return gcc.ExitCode == 0;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            Console.WriteLine("gcc is missing: no reference in this run.");
            return false;
        }
    }

    private static double RunReference(string reference, Case c, int records)
    {
        using Process process = Process.Start(new ProcessStartInfo(
            reference,
            [
                c.Shape, c.Payload.ToString(CultureInfo.InvariantCulture), records.ToString(CultureInfo.InvariantCulture),
                c.Checksum ? "1" : "0",
            ])
        {
            RedirectStandardOutput = true,
        })!;
        string text = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        return process.ExitCode == 0
            ? double.Parse(text, CultureInfo.InvariantCulture)
            : throw new InvalidOperationException($"The reference failed with code {process.ExitCode}.");
    }

    private sealed record Case(string Shape, int Payload, bool Checksum)
    {
        public override string ToString() => $"{Shape} {Payload} B{(Checksum ? "" : " no CRC")}";
    }
}
