namespace Tunnel2.Telemetry.EventRing;

/// <summary>A reusable run of records, payloads packed into one buffer: what batch publish takes and batch poll fills. Not thread-safe.</summary>
internal sealed class RingBatch
{
    private readonly RingEntry[] _entries;

    /// <param name="maxRecords">At most so many records.</param>
    /// <param name="maxPayload">The ring's longest payload, bytes.</param>
    internal RingBatch(int maxRecords, int maxPayload)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(maxRecords, 1);
        _entries = new RingEntry[maxRecords];
        // Payloads start at multiples of 8; the reader stores whole words.
        Buffer = new byte[(long)maxRecords * ((maxPayload + 7) & ~7)];
    }

    internal byte[] Buffer { get; }

    internal int Count { get; private set; }

    internal int MaxRecords => _entries.Length;

    /// <summary>Bytes of the buffer in use.</summary>
    internal int Length { get; private set; }

    internal ReadOnlySpan<RingEntry> Entries => _entries.AsSpan(0, Count);

    internal ReadOnlySpan<byte> Payload(in RingEntry entry) => Buffer.AsSpan(entry.Offset, entry.Length);

    internal void Clear()
    {
        Count = 0;
        Length = 0;
    }

    /// <summary>Appends a copy of <paramref name="payload"/>; false when the batch is full.</summary>
    internal bool TryAdd(ushort type, ReadOnlySpan<byte> payload)
    {
        if (Count == _entries.Length || payload.Length > Buffer.Length - Length)
        {
            return false;
        }

        payload.CopyTo(Buffer.AsSpan(Length));
        Append(0, payload.Length, type);
        return true;
    }

    /// <summary>Records that the next payload was stored at <see cref="Length"/>.</summary>
    internal void Append(long sequence, int length, ushort type)
    {
        _entries[Count++] = new RingEntry(sequence, Length, (ushort)length, type);
        Length += (length + 7) & ~7;
    }
}
