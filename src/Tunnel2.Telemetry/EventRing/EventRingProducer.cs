using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Publishes records. Safe on any thread; allocates nothing, reads no clock and enters the kernel only to wake a sleeping reader.
/// </summary>
/// <remarks>
/// A record is claimed (its number taken from the head), its slot owned (compare-and-swap of the slot's sequence to −(n+1)), filled, and
/// committed (sequence n+1). A producer may stall between the first two steps; then the swap keeps it from writing into a slot that a later
/// lap owns.
/// </remarks>
internal sealed unsafe class EventRingProducer
{
    /// <summary>How many numbers are tried for one record before it is dropped.</summary>
    internal const int MaxClaims = 16;

    private readonly SharedEventRing _ring;
    private readonly StalledClaims _stalled;
    private readonly int _maxPayload;
    private readonly bool _checksum;
    private long _dropped;

    internal EventRingProducer(SharedEventRing ring)
    {
        if (!ring.IsWritable)
        {
            throw new InvalidOperationException("The ring was opened for reading only.");
        }

        _ring = ring;
        _stalled = new StalledClaims(ring.Options);
        _maxPayload = ring.MaxPayload;
        _checksum = ring.Header.Checksum;
        Epoch = Interlocked.Increment(ref ring.Epoch);
    }

    internal SharedEventRing Ring => _ring;

    /// <summary>This producer's number: 1 for the first since the ring was created.</summary>
    internal int Epoch { get; }

    /// <summary>Records of this producer that no reader gets.</summary>
    internal long Dropped => Volatile.Read(ref _dropped);

    /// <summary>Publishes a copy of <paramref name="payload"/>. Never waits.</summary>
    internal PublishStatus TryPublish(ushort type, ReadOnlySpan<byte> payload)
    {
        if (payload.Length > _maxPayload || type == 0)
        {
            return PublishStatus.Invalid;
        }

        for (int attempt = 0; attempt < MaxClaims; attempt++)
        {
            long sequence = Interlocked.Increment(ref _ring.Head) - 1;
            if (TryFill(sequence, type, ref MemoryMarshal.GetReference(payload), payload.Length))
            {
                _ring.SignalCommitted();
                return PublishStatus.Published;
            }
        }

        CountDropped();
        return PublishStatus.Dropped;
    }

    /// <summary>Counts a record that no reader gets.</summary>
    internal void CountDropped() => Interlocked.Increment(ref _dropped);

    /// <summary>Owns, fills and commits the slot of a claimed number; false when another lap owns it or took it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryFill(long sequence, ushort type, ref byte payload, int length)
    {
        byte* slot = _ring.Slot(sequence);
        bool isFilled = TryOwn(slot, sequence)
            && TryCommit(slot, sequence, SlotCodec.CopyIn(slot, ref payload, length, type, sequence, _checksum));
        GC.KeepAlive(this);
        return isFilled;
    }

    /// <summary>Takes the slot for the claimed number; false when another lap owns it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryOwn(byte* slot, long sequence)
    {
        return TryOwnFree(slot, sequence) || TryOwnContended(ref *(long*)slot, sequence);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool TryOwnFree(byte* slot, long sequence)
    {
        ref long word = ref *(long*)slot;
        long seen = Volatile.Read(ref word);
        return (ulong)seen <= (ulong)sequence && Interlocked.CompareExchange(ref word, -(sequence + 1), seen) == seen;
    }

    /// <summary>
    /// The slot belongs to a later lap, or to an earlier one that is not committed. A later lap wins. An earlier one keeps the slot until
    /// it has stalled for longer than the claim timeout; in that time this number is given up and the record gets another one. A number
    /// that was never claimed is damage, and is overwritten.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal bool TryOwnContended(ref long word, long sequence)
    {
        long seen = Volatile.Read(ref word);
        for (; ; )
        {
            bool damaged = SharedEventRing.Number(seen) > (ulong)Volatile.Read(ref _ring.Head);
            if (!damaged && SharedEventRing.Number(seen) > (ulong)sequence)
            {
                return false;
            }

            if (!damaged && seen < 0 && !_stalled.HasExpired(seen))
            {
                return false;
            }

            long previous = Interlocked.CompareExchange(ref word, -(sequence + 1), seen);
            if (previous == seen)
            {
                return true;
            }

            seen = previous;
        }
    }

    /// <summary>
    /// Makes the record visible if the slot is still ours. Between check and store, another lap can take the slot only if this thread
    /// stalls here for the whole claim timeout. The worst result is one record that readers skip as never committed, because they accept a
    /// slot only with the exact number that they expect and a checksum that covers it. This does not justify a second locked instruction
    /// for every record.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool TryCommit(byte* slot, long sequence, ulong meta)
    {
        ref long word = ref *(long*)slot;
        if (Volatile.Read(ref word) != -(sequence + 1))
        {
            return false;
        }

        *(ulong*)(slot + SlotMetaOffset) = meta;
        Volatile.Write(ref word, sequence + 1);
        return true;
    }
}
