using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// Publishes many records at once. ProxyEntry publishes each request as it ends, one by one; what a batch saves is measured beside it.
/// </summary>
internal static unsafe class BatchPublishing
{
    /// <summary>The most numbers that are filled together.</summary>
    internal const int RunLength = 8;

    /// <summary>Appends a copy of <paramref name="payload"/>; false when the batch is full.</summary>
    internal static bool TryAdd(this RingBatch batch, ushort type, ReadOnlySpan<byte> payload)
    {
        int count = batch.Count;
        if (count == batch.AllEntries.Length || payload.Length > batch.Buffer.Length - batch.Length || payload.Length > ushort.MaxValue)
        {
            return false;
        }

        payload.CopyTo(batch.Buffer.AsSpan(batch.Length));
        batch.AllEntries[count] = new RingEntry(0, batch.Length, (ushort)payload.Length, type);
        batch.SetFilled(count + 1, batch.Length + ((payload.Length + 7) & ~7));
        return true;
    }

    /// <summary>
    /// Publishes the records of <paramref name="batch"/> in order, from its entry <paramref name="start"/> on, claiming all their numbers
    /// at once; never waits.
    /// </summary>
    /// <returns>How many entries were dealt with: at most half of the ring's capacity.</returns>
    internal static int TryPublishBatch(this EventRingProducer producer, RingBatch batch, int start = 0)
    {
        SharedEventRing ring = producer.Ring;
        ReadOnlySpan<RingEntry> entries = batch.Entries[start..];
        int wanted = Math.Min(entries.Length, ring.Capacity / 2);
        if (wanted == 0)
        {
            return 0;
        }

        long first = Interlocked.Add(ref ring.Head, wanted) - wanted;
        for (int done = 0; done < wanted; done += RunLength)
        {
            ReadOnlySpan<RingEntry> run = entries.Slice(done, Math.Min(RunLength, wanted - done));
            uint published = FillRun(producer, batch, run, first + done);
            if (published != All(run))
            {
                PublishRest(producer, batch, run, published);
            }
        }

        ring.SignalCommitted();
        return wanted;
    }

    /// <summary>Publishes the whole batch.</summary>
    internal static int PublishBatch(this EventRingProducer producer, RingBatch batch)
    {
        int done = 0;
        while (done < batch.Count)
        {
            done += producer.TryPublishBatch(batch, done);
        }

        return done;
    }

    /// <summary>Whether an entry can be a record of this ring.</summary>
    internal static bool IsValid(SharedEventRing ring, RingEntry entry) => entry.Length <= ring.MaxPayload && entry.Type != 0;

    /// <summary>What <see cref="FillRun"/> returns where every number carries its entry.</summary>
    internal static uint All(ReadOnlySpan<RingEntry> run) => (1u << run.Length) - 1;

    /// <summary>
    /// Fills the slots of successive numbers, at most <see cref="RunLength"/>: owns all of them first. Each compare-and-swap holds back
    /// every load after it, so that copies and checksums in between would run alone in the processor; after the last they overlap.
    /// </summary>
    /// <returns>A bit for each entry whose number carries it.</returns>
    internal static uint FillRun(EventRingProducer producer, RingBatch batch, ReadOnlySpan<RingEntry> entries, long first)
    {
        SharedEventRing ring = producer.Ring;
        RingSlots slots = ring.Slots;
        bool checksum = ring.Header.Checksum;
        uint owned = All(entries);
        for (int done = OwnRun(slots, first, entries.Length); done < entries.Length;)
        {
            if (!producer.TryOwnContended(ref *(long*)slots[first + done], first + done))
            {
                owned ^= 1u << done;
            }

            done++;
            done += OwnRun(slots, first + done, entries.Length - done);
        }

        // Unchecked, as an empty payload may begin where the buffer ends.
        ref byte payloads = ref MemoryMarshal.GetArrayDataReference(batch.Buffer);
        uint published = 0;
        for (int i = 0; i < entries.Length; i++)
        {
            RingEntry entry = entries[i];
            if ((owned >> i & 1) == 0)
            {
                continue;
            }

            if (!IsValid(ring, entry))
            {
                // A number that cannot carry its record must still be committed, or every reader would wait for it.
                Fill(slots[first + i], ref payloads, 0, 0, first + i, checksum);
            }
            else if (Fill(
                slots[first + i], ref Unsafe.AddByteOffset(ref payloads, entry.Offset), entry.Length, entry.Type, first + i, checksum))
            {
                published |= 1u << i;
            }
        }

        GC.KeepAlive(producer);
        return published;
    }

    /// <summary>Publishes anew what a run's numbers did not carry, and counts what none can.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void PublishRest(EventRingProducer producer, RingBatch batch, ReadOnlySpan<RingEntry> entries, uint published)
    {
        for (int i = 0; i < entries.Length; i++)
        {
            if (!IsValid(producer.Ring, entries[i]))
            {
                producer.CountDropped();
            }
            else if ((published >> i & 1) == 0)
            {
                producer.TryPublish(entries[i].Type, batch.Payload(entries[i]));
            }
        }
    }

    /// <summary>Owns the slots of successive numbers up to the first that another lap has.</summary>
    /// <returns>How many it owned.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OwnRun(RingSlots slots, long first, int count)
    {
        int done = 0;
        while (done < count && EventRingProducer.TryOwnFree(slots[first + done], first + done))
        {
            done++;
        }

        return done;
    }

    /// <summary>
    /// Copies a record into an owned slot and commits it. Not inlined: the loop around it would leave it no registers. It calls nothing
    /// but in its last step, so that it has none to save either.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Fill(byte* slot, ref byte payload, int length, ushort type, long sequence, bool checksum) =>
        checksum && length >= sizeof(ulong)
            ? EventRingProducer.TryCommit(slot, sequence, SlotCodec.CopyWordsIn(slot, ref payload, length, type, sequence))
            : FillOther(slot, ref payload, length, type, sequence, checksum);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool FillOther(byte* slot, ref byte payload, int length, ushort type, long sequence, bool checksum) =>
        EventRingProducer.TryCommit(slot, sequence, SlotCodec.CopyIn(slot, ref payload, length, type, sequence, checksum));
}
