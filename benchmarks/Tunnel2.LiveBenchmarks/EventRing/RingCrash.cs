using System.Diagnostics;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.LiveBenchmarks.EventRing;

/// <summary>
/// Kills a flat-out producer process again and again at random moments, beside a producer that lives: every number must be accounted
/// for, every record intact, and the ring must continue.
/// </summary>
internal static class RingCrash
{
    internal static int Run(int kills)
    {
        string path = $"/dev/shm/tunnel2-bench-{Environment.ProcessId}";
        using SharedEventRing ring = SharedEventRing.Create(path, new EventRingOptions { Capacity = 4096, Checksum = false });
        EventRingProducer own = ring.CreateProducer();
        using EventRingReader reader = ring.CreateReader(new EventRingReaderOptions());
        var batch = new RingBatch(256, ring.MaxPayload);
        var random = new Random(1);
        byte[] payload = new byte[200];
        long records = 0;
        long abandoned = 0;
        for (int kill = 0; kill < kills; kill++)
        {
            using Process producer = Process.Start(Environment.ProcessPath!, [.. RingLatency.Self(), "ring", "crash-producer", path]);
            long until = -1;
            while (until < 0 || Stopwatch.GetTimestamp() < until)
            {
                own.TryPublish(2, payload);
                RingReadStatus status = reader.TryReadBatch(batch, out RingGap gap);
                if (gap.Reason == RingGapReason.Abandoned)
                {
                    abandoned += gap.Count;
                }

                foreach (ref readonly RingEntry entry in batch.Entries)
                {
                    records++;
                    if (entry.Type == 1)
                    {
                        if (until < 0)
                        {
                            until = Stopwatch.GetTimestamp() + (random.Next(1, 200) * Stopwatch.Frequency / 1000);
                        }

                        ReadOnlySpan<long> words = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, long>(batch.Payload(entry));
                        if (words.IndexOfAnyExcept(words[0]) >= 0)
                        {
                            Console.WriteLine("TORN RECORD");
                            return 1;
                        }
                    }
                }
            }

            producer.Kill();
            producer.WaitForExit();
        }

        // What the kills left must not stop the living.
        long last = 0;
        for (int i = 0; i < 3 * ring.Capacity; i++)
        {
            own.TryPublish(2, payload);
        }

        long deadline = Stopwatch.GetTimestamp() + (5 * Stopwatch.Frequency);
        while (reader.Lag > 0 && Stopwatch.GetTimestamp() < deadline)
        {
            if (reader.TryReadBatch(batch, out RingGap gap) == RingReadStatus.Record)
            {
                records += batch.Count;
                last = batch.Entries[^1].Sequence;
            }
            else if (gap.Reason == RingGapReason.Abandoned)
            {
                abandoned += gap.Count;
            }
        }

        File.Delete(path);
        bool whole = records + reader.Missed == ring.Head && last > 0;
        Console.WriteLine($"{kills} kills: {records} records, {reader.Missed} missed of which {abandoned} abandoned, head {ring.Head}: "
            + (whole ? "every number accounted for" : "NUMBERS MISSING"));
        return whole ? 0 : 1;
    }

    internal static int Produce(string path)
    {
        if (SharedEventRing.TryOpen(path, new EventRingOptions(), writable: true, out SharedEventRing? ring) != EventRingOpenError.None)
        {
            return 1;
        }

        EventRingProducer producer = ring!.CreateProducer();
        byte[] payload = new byte[200];
        Span<long> words = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, long>(payload.AsSpan());
        for (long i = 0; ; i++)
        {
            words.Fill(i);
            producer.TryPublish(1, payload);
        }
    }
}
