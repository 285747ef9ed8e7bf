namespace Tunnel2.Telemetry.EventRing;

/// <summary>Why a reader did not get a range of sequence numbers. Part of the relay's wire format: never renumber.</summary>
internal enum RingGapReason : byte
{
    None = 0,

    /// <summary>The reader was lapped.</summary>
    Overwritten = 1,

    /// <summary>Claimed by a producer that never committed, or given up by it.</summary>
    Abandoned = 2,

    /// <summary>The record's checksum or length was wrong.</summary>
    Corrupt = 3,

    /// <summary>A waiting producer continued without this reader because it gave no sign of life; the count may be 0.</summary>
    SkippedAsStale = 4,

    /// <summary>Another ring has replaced the ring, so the number of lost records is unknown (count 0).</summary>
    NewRing = 5,
}
