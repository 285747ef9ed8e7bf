using Tunnel2.Telemetry.EventRing;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// Publishes records that are written in place, in two steps; what lies between them is where a producer may stall or die. ProxyEntry
/// encodes beside the ring and publishes in one step.
/// </summary>
internal static unsafe class InPlacePublishing
{
    /// <summary>
    /// Claims a slot to be written in place: no copy for a record that is encoded anyway. Every claim must be committed or abandoned
    /// by the same thread, and soon: readers wait for it.
    /// </summary>
    internal static PublishStatus TryClaim(this EventRingProducer producer, out RingClaim claim)
    {
        SharedEventRing ring = producer.Ring;
        for (int attempt = 0; attempt < EventRingProducer.MaxClaims; attempt++)
        {
            if (TryOwn(producer, Interlocked.Increment(ref ring.Head) - 1, out claim))
            {
                return PublishStatus.Published;
            }
        }

        producer.CountDropped();
        claim = default;
        return PublishStatus.Dropped;
    }

    /// <summary>Makes a claim of a number that was taken; false when another lap has its slot.</summary>
    internal static bool TryOwn(EventRingProducer producer, long sequence, out RingClaim claim)
    {
        SharedEventRing ring = producer.Ring;
        byte* slot = ring.Slot(sequence);
        bool owns = producer.TryOwn(slot, sequence);
        claim = owns ? new RingClaim(producer, slot, sequence, new Span<byte>(slot + SlotHeaderSize, ring.MaxPayload)) : default;
        GC.KeepAlive(ring);
        return owns;
    }

    /// <summary>Finishes a claim; false when the slot was taken because the claim had stalled.</summary>
    internal static bool Commit(EventRingProducer producer, in RingClaim claim, ushort type, int length)
    {
        ulong meta = Seal(claim.Slot, length, type, claim.Sequence, producer.Ring.Header.Checksum);
        if (!EventRingProducer.TryCommit(claim.Slot, claim.Sequence, meta))
        {
            producer.CountDropped();
            return false;
        }

        producer.Ring.SignalCommitted(); // Which keeps the ring alive: a claim's slot is part of it.
        return true;
    }

    /// <summary>Meta word of a payload that was written straight into the slot; zeroes the padding.</summary>
    private static ulong Seal(byte* slot, int length, ushort type, long sequence, bool checksum)
    {
        ulong meta = SlotCodec.Meta(length, type);
        if (!checksum)
        {
            return meta;
        }

        byte* payload = slot + SlotHeaderSize;
        for (int pad = length; (pad & 7) != 0; pad++)
        {
            payload[pad] = 0;
        }

        ulong crc = SlotCodec.Start(sequence, meta);
        for (int i = 0; i < length; i += 8)
        {
            crc = SlotCodec.Step(crc, *(ulong*)(payload + i));
        }

        return meta | ((ulong)~(uint)crc << 32);
    }
}
