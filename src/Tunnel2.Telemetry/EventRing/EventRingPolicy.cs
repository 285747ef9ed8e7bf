namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// What a producer does when the ring is full. Part of the file format: never renumber. The product makes only rings of the first kind; its
/// readers read both.
/// </summary>
internal enum EventRingPolicy
{
    /// <summary>The oldest record is overwritten; a reader that was lapped learns how many it lost.</summary>
    OverwriteOldest = 0,

    /// <summary>The producer waits for the slowest registered consumer that still gives a sign of life.</summary>
    WaitForSlowest = 1,
}
