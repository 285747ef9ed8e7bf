namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// What a producer does when the ring is full. Part of the file format: never renumber. The product makes rings of the first kind only,
/// and its readers read both.
/// </summary>
internal enum EventRingPolicy
{
    /// <summary>The oldest record gives way; a reader that was lapped is told how many it lost.</summary>
    OverwriteOldest = 0,

    /// <summary>The producer waits for the slowest registered consumer that still shows life.</summary>
    WaitForSlowest = 1,
}
