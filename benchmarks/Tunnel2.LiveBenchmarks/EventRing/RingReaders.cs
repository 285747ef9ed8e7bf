using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.LiveBenchmarks.EventRing;

/// <summary>
/// Eight registered readers under "wait" at 64 B: one thread publishes batches of 32, another polls the eight readers in turn (two cores).
/// Every reader checks every record; a gap or a wrong value ends the run with an error.
/// </summary>
internal static class RingReaders
{
    private const int Readers = 8;

    internal static int Run(int records)
    {
        records -= records % 32;
        for (int round = 0; round < 4; round++)
        {
            using SharedEventRing ring = SharedEventRing.Create($"/dev/shm/tunnel2-bench-{Environment.ProcessId}", new EventRingOptions
            {
                Capacity = 4096,
                Policy = EventRingPolicy.WaitForSlowest,
            });
            var producer = new WaitingProducer(ring);
            RegisteredReader[] readers = [.. Enumerable.Range(0, Readers).Select(r => new RegisteredReader(ring, $"reader {r}"))];
            long started = Stopwatch.GetTimestamp();
            var thread = new Thread(() => Publish(producer, ring.MaxPayload, records));
            thread.Start();
            var batch = new RingBatch(256, ring.MaxPayload);
            long[] next = new long[Readers];
            while (next.Any(n => n < records))
            {
                for (int r = 0; r < Readers; r++)
                {
                    RingReadStatus status = readers[r].TryReadBatch(batch, out RingGap gap);
                    if (status == RingReadStatus.Gap)
                    {
                        Console.WriteLine($"LOST {gap}");
                        return 1;
                    }

                    foreach (ref readonly RingEntry entry in batch.Entries)
                    {
                        if (Unsafe.ReadUnaligned<long>(ref batch.Buffer[entry.Offset]) != next[r]++)
                        {
                            Console.WriteLine("WRONG CONTENT");
                            return 1;
                        }
                    }
                }
            }

            thread.Join();
            double ns = Stopwatch.GetElapsedTime(started).TotalNanoseconds;
            Array.ForEach(readers, r => r.Dispose());
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"8 readers, 64 B, wait: {ns / records:F1} ns per record, {ns / records / Readers:F1} ns per delivery, nothing lost"));
        }

        return 0;
    }

    private static void Publish(WaitingProducer producer, int maxPayload, int records)
    {
        var batch = new RingBatch(32, maxPayload);
        for (int i = 0; i < 32; i++)
        {
            batch.TryAdd(1, new byte[64]);
        }

        for (long i = 0; i < records; i += 32)
        {
            for (int j = 0; j < 32; j++)
            {
                Unsafe.WriteUnaligned(ref batch.Buffer[batch.Entries[j].Offset], i + j);
            }

            producer.PublishBatch(batch);
        }
    }
}
