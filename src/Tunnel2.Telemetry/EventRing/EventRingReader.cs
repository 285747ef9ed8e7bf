using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.Records;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Reads a ring at its own pace. It returns every sequence number from the start on exactly once, as a record or in a gap. Not thread-safe:
/// one thread at a time.
/// </summary>
/// <remarks>
/// A record is copied, then its slot's sequence is read again, and only then the cursor moves. The checksum is checked on the copy.
/// </remarks>
internal sealed unsafe partial class EventRingReader : IDisposable
{
    private const int PollsBetweenHeadReads = 64;

    private readonly SharedEventRing _ring;
    private readonly EventRingReaderOptions _options;
    private readonly int _maxPayload;
    private readonly bool _checksum;
    private long _cursor;
    private bool _sleeps;

    internal EventRingReader(SharedEventRing ring, EventRingReaderOptions options)
    {
        _ring = ring;
        _options = options;
        _maxPayload = ring.MaxPayload;
        _checksum = ring.Header.Checksum;
        long head = Volatile.Read(ref ring.Head);
        _cursor = options.From switch
        {
            EventRingReaderOptions.FromHead => head,
            EventRingReaderOptions.FromOldest => Math.Max(0, head - ring.Capacity),
            _ => Math.Clamp(options.From, 0, head),
        };
    }

    /// <summary>The sequence number of the next record.</summary>
    internal long Cursor => _cursor;

    /// <summary>Sequence numbers that were claimed and not returned yet.</summary>
    internal long Lag
    {
        get
        {
            long head = Volatile.Read(ref _ring.Head);
            return Math.Max(0, head - _cursor); // A use of this object, so that the ring stays mapped until here.
        }
    }

    /// <summary>Sequence numbers that were reported in gaps.</summary>
    internal long Missed { get; private set; }

    /// <summary>Polls for one record.</summary>
    /// <param name="destination">Room for <see cref="SharedEventRing.MaxPayload"/> bytes.</param>
    /// <param name="entry">The record, its payload at offset 0, when the status is <see cref="RingReadStatus.Record"/>.</param>
    /// <param name="gap">The missed numbers, when the status is <see cref="RingReadStatus.Gap"/>.</param>
    internal RingReadStatus TryRead(Span<byte> destination, out RingEntry entry, out RingGap gap)
    {
        if (destination.Length < _maxPayload)
        {
            throw new ArgumentException("The destination must hold the longest payload.", nameof(destination));
        }

        gap = default;
        Take taken = TryTake(_cursor, ref MemoryMarshal.GetReference(destination), out ulong meta);
        if (taken == Take.Record)
        {
            entry = new RingEntry(_cursor, 0, (ushort)meta, (ushort)(meta >> 16));
            _cursor++;
            _idlePolls = 0;
            return RingReadStatus.Record;
        }

        entry = default;
        return TakeOther(taken, out gap);
    }

    /// <summary>
    /// Polls for as many records as are there and fit, in order, each checked like a single one. A gap ends the batch; the next call
    /// reports it.
    /// </summary>
    internal RingReadStatus TryReadBatch(RingBatch batch, out RingGap gap)
    {
        batch.Clear();
        gap = default;
        Take taken = ReadRun(batch);
        _cursor += batch.Count;
        if (batch.Count > 0)
        {
            _idlePolls = 0;
            return RingReadStatus.Record;
        }

        return TakeOther(taken, out gap);
    }

    /// <summary>Producers no longer wake this reader. The object must not be used afterwards.</summary>
    public void Dispose()
    {
        if (_sleeps)
        {
            _sleeps = false;
            Interlocked.Decrement(ref _ring.BlockingConsumers);
        }

        GC.KeepAlive(this);
    }

    /// <summary>Copies records from the cursor on; returns what stopped it.</summary>
    private Take ReadRun(RingBatch batch)
    {
        ref byte buffer = ref MemoryMarshal.GetArrayDataReference(batch.Buffer);
        Span<RingEntry> entries = batch.AllEntries;
        RingSlots slots = _ring.Slots;
        long cursor = _cursor;
        int maxPayload = _maxPayload;
        bool checksum = _checksum;
        int last = batch.Buffer.Length - ((maxPayload + 7) & ~7);
        int length = 0;
        int count = 0;
        Take taken = Take.Record;
        for (; count < entries.Length && length <= last; count++)
        {
            ref byte destination = ref Unsafe.AddByteOffset(ref buffer, length);
            long sequence = cursor + count;
            uint meta = TakeIntact(slots[sequence], ref destination, sequence, maxPayload, checksum);
            if (meta == 0 && (taken = TakeOutOfLine(sequence, ref destination, out meta)) != Take.Record)
            {
                break;
            }

            entries[count] = new RingEntry(sequence, length, (ushort)meta, (ushort)(meta >> 16));
            length += ((ushort)meta + 7) & ~7;
        }

        batch.SetFilled(count, length);
        return taken;
    }

    private enum Take
    {
        Record,
        NotReady,
        Lapped,
        Corrupt,
        Abandoned,
    }

    /// <summary>Copies record <paramref name="sequence"/>; does not move the cursor.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Take TryTake(long sequence, ref byte destination, out ulong meta)
    {
        long expected = sequence + 1;
        byte* slot = _ring.Slot(sequence);
        ref long word = ref *(long*)slot;
        long seen = Volatile.Read(ref word);
        if (seen != expected)
        {
            meta = 0;
            return SharedEventRing.Number(seen) > (ulong)expected ? Take.Lapped : Take.NotReady;
        }

        meta = *(ulong*)(slot + SlotMetaOffset);
        int length = (ushort)meta;
        // The length is limited here, because the slot may be damaged.
        bool intact = length <= _maxPayload && SlotCodec.CopyOut(slot, ref destination, length, meta, sequence, _checksum);
        Volatile.ReadBarrier();
        bool isLapped = Volatile.Read(ref word) != expected;
        GC.KeepAlive(this);
        if (isLapped)
        {
            return Take.Lapped;
        }

        return !intact ? Take.Corrupt : (ushort)(meta >> 16) == (ushort)RecordType.Abandoned ? Take.Abandoned : Take.Record;
    }

    /// <summary>
    /// Handles the records that <see cref="TakeIntact"/> did not take. A separate method, so that the loop keeps its registers.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private Take TakeOutOfLine(long sequence, ref byte destination, out uint meta)
    {
        Take taken = TryTake(sequence, ref destination, out ulong word);
        meta = (uint)word;
        return taken;
    }

    /// <summary>
    /// Like <see cref="TryTake"/>, for the one result with which a batch continues: returns the low half of the meta word, and 0 for all
    /// except an intact record with a checksum. It calls no method, so that the loop around it keeps its registers.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint TakeIntact(byte* slot, ref byte destination, long sequence, int maxPayload, bool checksum)
    {
        ref long word = ref *(long*)slot;
        if (Volatile.Read(ref word) != sequence + 1)
        {
            return 0;
        }

        ulong meta = *(ulong*)(slot + SlotMetaOffset);
        int length = (ushort)meta;
        bool intact = checksum && length <= maxPayload && SlotCodec.CopyOut(slot, ref destination, length, meta, sequence, checksum: true);
        Volatile.ReadBarrier();
        // An abandoned number has neither length nor type.
        return intact && Volatile.Read(ref word) == sequence + 1 && (ushort)(meta >> 16) != (ushort)RecordType.Abandoned ? (uint)meta : 0;
    }
}
