namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// A reusable run of records, payloads packed into one buffer: what batch publish takes and batch poll fills. Not thread-safe.
/// </summary>
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

    /// <summary>Bytes of the buffer in use.</summary>
    internal int Length { get; private set; }

    internal ReadOnlySpan<RingEntry> Entries => _entries.AsSpan(0, Count);

    internal ReadOnlySpan<byte> Payload(in RingEntry entry) => Buffer.AsSpan(entry.Offset, entry.Length);

    internal void Clear()
    {
        Count = 0;
        Length = 0;
    }

    /// <summary>Room for the entries that a reader fills in.</summary>
    internal Span<RingEntry> AllEntries => _entries;

    /// <summary>Ends the filling by a reader.</summary>
    internal void SetFilled(int count, int length)
    {
        Count = count;
        Length = length;
    }
}
