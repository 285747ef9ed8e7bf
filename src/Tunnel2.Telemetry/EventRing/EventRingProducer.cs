using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Publishes records. Safe on any thread; allocates nothing, reads no clock and enters the kernel only to wake a sleeping reader.
/// </summary>
/// <remarks>
/// A record is claimed (its number taken from the head), its slot owned (compare-and-swap of the slot's sequence to −(n+1)), filled,
/// and committed (sequence n+1). The swap is what keeps a producer that stalled between the first two steps from writing into a slot
/// that a later lap owns.
/// </remarks>
internal sealed unsafe class EventRingProducer
{
    private const int MaxClaims = 16;
    private const int RunLength = 8;

    private readonly SharedEventRing _ring;
    private readonly StalledClaims _stalled;
    private readonly SlowestConsumerGate? _gate;
    private readonly int _maxPayload;
    private readonly bool _checksum;
    private long _dropped;

    internal EventRingProducer(SharedEventRing ring, Func<TimeSpan, bool>? onBlocked)
    {
        if (!ring.IsWritable)
        {
            throw new InvalidOperationException("The ring was opened for reading only.");
        }

        _ring = ring;
        _stalled = new StalledClaims(ring.Options);
        _gate = ring.Header.Policy == EventRingPolicy.WaitForSlowest ? new SlowestConsumerGate(ring, onBlocked) : null;
        _maxPayload = ring.MaxPayload;
        _checksum = ring.Header.Checksum;
        Epoch = Interlocked.Increment(ref ring.Epoch);
    }

    /// <summary>This producer's number: 1 for the first since the ring was created.</summary>
    internal int Epoch { get; }

    /// <summary>Records of this producer that reached no reader.</summary>
    internal long Dropped => Volatile.Read(ref _dropped);

    /// <summary>Publishes a copy of <paramref name="payload"/>, and never waits.</summary>
    internal PublishStatus TryPublish(ushort type, ReadOnlySpan<byte> payload)
    {
        if (payload.Length > _maxPayload || type == 0)
        {
            return PublishStatus.Invalid;
        }

        for (int attempt = 0; attempt < MaxClaims; attempt++)
        {
            if (_gate is null)
            {
                long sequence = Interlocked.Increment(ref _ring.Head) - 1;
                if (TryFill(sequence, type, ref MemoryMarshal.GetReference(payload), payload.Length))
                {
                    _ring.SignalCommitted();
                    return PublishStatus.Published;
                }
            }
            else if (!_gate.TryClaim(1, out long sequence, out _))
            {
                return PublishStatus.Full;
            }
            else if (TryFill(sequence, type, ref MemoryMarshal.GetReference(payload), payload.Length))
            {
                _ring.SignalCommitted();
                return PublishStatus.Published;
            }
        }

        Interlocked.Increment(ref _dropped);
        return PublishStatus.Dropped;
    }

    /// <summary>
    /// As <see cref="TryPublish"/>, but under <see cref="EventRingPolicy.WaitForSlowest"/> waits for room: spins, relaxes, yields, then
    /// asks the callback about once a millisecond whether to go on.
    /// </summary>
    /// <exception cref="OperationCanceledException">Cancelled while there was no room.</exception>
    internal PublishStatus Publish(ushort type, ReadOnlySpan<byte> payload, CancellationToken cancellationToken = default)
    {
        PublishStatus status = TryPublish(type, payload);
        while (status == PublishStatus.Full)
        {
            if (!_gate!.WaitForRoom(cancellationToken))
            {
                return PublishStatus.Full;
            }

            status = TryPublish(type, payload);
        }

        return status;
    }

    /// <summary>
    /// Publishes the records of <paramref name="batch"/> in order, from its entry <paramref name="start"/> on, claiming all their numbers
    /// at once; never waits.
    /// </summary>
    /// <returns>How many entries were dealt with; fewer than the rest of the batch when the ring is full.</returns>
    internal int TryPublishBatch(RingBatch batch, int start = 0)
    {
        ReadOnlySpan<RingEntry> entries = batch.Entries[start..];
        int wanted = Math.Min(entries.Length, _ring.Capacity / 2);
        if (wanted == 0)
        {
            return 0;
        }

        long first;
        if (_gate is null)
        {
            first = Interlocked.Add(ref _ring.Head, wanted) - wanted;
        }
        else if (!_gate.TryClaim(wanted, out first, out wanted))
        {
            return 0;
        }

        for (int done = 0; done < wanted; done += RunLength)
        {
            FillRun(batch, entries.Slice(done, Math.Min(RunLength, wanted - done)), first + done);
        }

        _ring.SignalCommitted();
        return wanted;
    }

    /// <summary>Publishes the whole batch, waiting for room where the policy waits.</summary>
    /// <returns>How many entries were dealt with; fewer than the batch only when the callback said stop.</returns>
    internal int PublishBatch(RingBatch batch, CancellationToken cancellationToken = default)
    {
        int done = 0;
        while (done < batch.Count)
        {
            int published = TryPublishBatch(batch, done);
            done += published;
            if (published == 0 && !_gate!.WaitForRoom(cancellationToken))
            {
                break;
            }
        }

        return done;
    }

    /// <summary>
    /// Claims a slot to be written in place: no copy for a record that is encoded anyway. Every claim must be committed or abandoned
    /// by the same thread, and soon: readers wait for it.
    /// </summary>
    internal PublishStatus TryClaim(out RingClaim claim)
    {
        for (int attempt = 0; attempt < MaxClaims; attempt++)
        {
            long sequence;
            if (_gate is null)
            {
                sequence = Interlocked.Increment(ref _ring.Head) - 1;
            }
            else if (!_gate.TryClaim(1, out sequence, out _))
            {
                claim = default;
                return PublishStatus.Full;
            }

            byte* slot = _ring.Slot(sequence);
            if (TryOwn(slot, sequence))
            {
                claim = new RingClaim(this, slot, sequence, new Span<byte>(slot + SlotHeaderSize, _maxPayload));
                return PublishStatus.Published;
            }
        }

        Interlocked.Increment(ref _dropped);
        claim = default;
        return PublishStatus.Dropped;
    }

    /// <summary>Finishes a claim; false when the slot was taken because the claim had stalled.</summary>
    internal bool Commit(in RingClaim claim, ushort type, int length)
    {
        ulong meta = SlotCodec.Seal(claim.Slot, length, type, claim.Sequence, _checksum);
        if (!TryCommit(claim.Slot, claim.Sequence, meta))
        {
            Interlocked.Increment(ref _dropped);
            return false;
        }

        _ring.SignalCommitted(); // Which keeps the ring alive: a claim's slot is part of it.
        return true;
    }

    /// <summary>
    /// Fills the slots of successive numbers, at most <see cref="RunLength"/>: owns all of them first. Each compare-and-swap holds back
    /// every load behind it, so that copies and checksums in between would stand alone in the processor; behind the last they overlap.
    /// </summary>
    private void FillRun(RingBatch batch, ReadOnlySpan<RingEntry> entries, long first)
    {
        RingSlots slots = _ring.Slots;
        uint all = (1u << entries.Length) - 1;
        uint owned = all;
        for (int done = OwnRun(slots, first, entries.Length); done < entries.Length;)
        {
            if (!TryOwnContended(ref *(long*)slots[first + done], first + done))
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

            if (!IsValid(entry))
            {
                // A number that cannot carry its record must still be committed, or every reader would wait for it.
                Fill(slots[first + i], ref payloads, 0, 0, first + i, _checksum);
            }
            else if (Fill(slots[first + i], ref Unsafe.AddByteOffset(ref payloads, entry.Offset), entry.Length, entry.Type, first + i, _checksum))
            {
                published |= 1u << i;
            }
        }

        if (published != all)
        {
            PublishRest(batch, entries, published);
        }

        GC.KeepAlive(this);
    }

    /// <summary>Publishes anew what a batch's numbers did not carry, and counts what none can.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void PublishRest(RingBatch batch, ReadOnlySpan<RingEntry> entries, uint published)
    {
        for (int i = 0; i < entries.Length; i++)
        {
            bool isLost = !IsValid(entries[i])
                || ((published >> i & 1) == 0 && TryPublish(entries[i].Type, batch.Payload(entries[i])) == PublishStatus.Full);
            if (isLost)
            {
                Interlocked.Increment(ref _dropped);
            }
        }
    }

    /// <summary>Owns the slots of successive numbers up to the first that another lap has.</summary>
    /// <returns>How many it owned.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OwnRun(RingSlots slots, long first, int count)
    {
        int done = 0;
        while (done < count && TryOwnFree(slots[first + done], first + done))
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
            ? TryCommit(slot, sequence, SlotCodec.CopyWordsIn(slot, ref payload, length, type, sequence))
            : FillOther(slot, ref payload, length, type, sequence, checksum);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool FillOther(byte* slot, ref byte payload, int length, ushort type, long sequence, bool checksum) =>
        TryCommit(slot, sequence, SlotCodec.CopyIn(slot, ref payload, length, type, sequence, checksum));

    private bool IsValid(RingEntry entry) => entry.Length <= _maxPayload && entry.Type != 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryFill(long sequence, ushort type, ref byte payload, int length)
    {
        byte* slot = _ring.Slot(sequence);
        bool isFilled = TryOwn(slot, sequence)
            && TryCommit(slot, sequence, SlotCodec.CopyIn(slot, ref payload, length, type, sequence, _checksum));
        GC.KeepAlive(this);
        return isFilled;
    }

    /// <summary>Takes the slot for the claimed number; false when another lap has it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryOwn(byte* slot, long sequence)
    {
        return TryOwnFree(slot, sequence) || TryOwnContended(ref *(long*)slot, sequence);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool TryOwnFree(byte* slot, long sequence)
    {
        ref long word = ref *(long*)slot;
        long seen = Volatile.Read(ref word);
        return (ulong)seen <= (ulong)sequence && Interlocked.CompareExchange(ref word, -(sequence + 1), seen) == seen;
    }

    /// <summary>
    /// The slot belongs to a later lap, or to an earlier one that is not finished. A later lap wins. An earlier one is left alone until
    /// it has stalled for longer than the claim timeout: until then this number is given up and the record gets another. A number
    /// that was never claimed is damage, and is written over.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryOwnContended(ref long word, long sequence)
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
    /// Makes the record visible if the slot is still ours. Between check and store another lap may take the slot only after we
    /// stalled for the whole claim timeout right here; the worst outcome is one record that readers skip as never committed, because
    /// they accept a slot only with the very number they look for and a checksum that covers it. That is not worth a second
    /// locked instruction for every record.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool TryCommit(byte* slot, long sequence, ulong meta)
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
