namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// A reusable batch of records, with all payloads in one buffer: the input of a batch publish and the output of a batch poll. Not
/// thread-safe.
/// </summary>
internal sealed class RingBatch
{
    private readonly RingEntry[] _entries;

    /// <param name="maxRecords">How many records at most.</param>
    /// <param name="maxPayload">The ring's longest payload, bytes.</param>
    internal RingBatch(int maxRecords, int maxPayload)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(maxRecords, 1);
        _entries = new RingEntry[maxRecords];
        // Payloads start at multiples of 8, because the reader stores whole words.
        Buffer = new byte[(long)maxRecords * ((maxPayload + 7) & ~7)];
    }

    internal byte[] Buffer { get; }

    internal int Count { get; private set; }

    /// <summary>Bytes of the buffer that are in use.</summary>
    internal int Length { get; private set; }

    internal ReadOnlySpan<RingEntry> Entries => _entries.AsSpan(0, Count);

    internal ReadOnlySpan<byte> Payload(in RingEntry entry) => Buffer.AsSpan(entry.Offset, entry.Length);

    internal void Clear()
    {
        Count = 0;
        Length = 0;
    }

    /// <summary>Memory for the entries that a reader fills.</summary>
    internal Span<RingEntry> AllEntries => _entries;

    /// <summary>A reader has filled the batch.</summary>
    internal void SetFilled(int count, int length)
    {
        Count = count;
        Length = length;
    }
}
