using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.RingPeer;

/// <summary>
/// The other process of the crash tests: publishes or reads a ring as fast as it can until it is killed. It says <c>ready</c> once it is
/// under way, and ends with 3 when it reads what was not published.
/// </summary>
internal static class Peer
{
    private const int Torn = 3;
    private const int RecordsUntilReady = 20;

    internal static int Produce(string path, int seed)
    {
        if (SharedEventRing.TryOpen(path, new EventRingOptions(), writable: true, out SharedEventRing? ring) != EventRingOpenError.None)
        {
            return 1;
        }

        WaitingProducer? waiting = ring!.Header.Policy == EventRingPolicy.WaitForSlowest ? new WaitingProducer(ring) : null;
        EventRingProducer? producer = waiting is null ? ring.CreateProducer() : null;
        var random = new Random(seed);
        byte[] payload = new byte[ring.MaxPayload];
        for (long i = 0; ; i++)
        {
            // Every byte follows from the first eight, so that a reader of any process can recognize a torn record.
            int length = 16 + (random.Next(1, (payload.Length - 16) / 8) * 8);
            MemoryMarshal.Cast<byte, long>(payload.AsSpan(0, length)).Fill(i);
            BinaryPrimitives.WriteInt32LittleEndian(payload.AsSpan(8), length);
            waiting?.TryPublish(1, payload.AsSpan(0, length));
            producer?.TryPublish(1, payload.AsSpan(0, length));
            if (i == RecordsUntilReady)
            {
                Console.Out.WriteLine("ready");
                Console.Out.Flush();
            }
        }
    }

    internal static int Read(string path, bool register)
    {
        if (SharedEventRing.TryOpen(path, new EventRingOptions(), writable: register, out SharedEventRing? ring) != EventRingOpenError.None)
        {
            return 1;
        }

        using RegisteredReader? registered = register ? new RegisteredReader(ring!, "peer") : null;
        using EventRingReader reader = ring!.CreateReader(new EventRingReaderOptions());
        var batch = new RingBatch(64, ring.MaxPayload);
        long seen = 0;
        long next = registered?.Cursor ?? reader.Cursor;
        while (true)
        {
            RingReadStatus status = registered?.TryReadBatch(batch, out RingGap gap) ?? reader.TryReadBatch(batch, out gap);
            if (status == RingReadStatus.Gap)
            {
                next = gap.First == next ? gap.First + gap.Count : -1;
            }

            foreach (ref readonly RingEntry entry in batch.Entries)
            {
                if (entry.Sequence != next || !IsWhole(batch.Payload(entry)))
                {
                    return Torn;
                }

                next++;
                if (++seen == RecordsUntilReady)
                {
                    Console.Out.WriteLine("ready");
                    Console.Out.Flush();
                }
            }

            if (status == RingReadStatus.Empty)
            {
                Thread.Yield();
            }
        }
    }

    /// <summary>Whether a payload is as <see cref="Produce"/> makes them.</summary>
    private static bool IsWhole(ReadOnlySpan<byte> payload)
    {
        long first = MemoryMarshal.Read<long>(payload);
        return payload.Length % 8 == 0 && BinaryPrimitives.ReadInt32LittleEndian(payload[8..]) == payload.Length
            && MemoryMarshal.Cast<byte, long>(payload[16..]).IndexOfAnyExcept(first) < 0;
    }
}
