namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// The geometry of a new ring, and the time limits that this process applies to others. An existing ring keeps its own geometry; only the
/// limits apply then. Immutable.
/// </summary>
internal sealed record EventRingOptions
{
    /// <summary>Slots, a power of two from 2 to 2^24. Default 65,536: 65 ms of history at a million records a second.</summary>
    internal int Capacity { get; init; } = 65_536;

    /// <summary>Bytes of a slot with its 16-byte header, a power of two from 64 to 32,768. Default 256.</summary>
    internal int SlotSize { get; init; } = 256;

    /// <summary>Entries of the consumer table, 1 to 256; the product uses none. Default 8.</summary>
    internal int Consumers { get; init; } = 8;

    /// <summary>What happens when the ring is full. Default: the oldest record is overwritten.</summary>
    internal EventRingPolicy Policy { get; init; } = EventRingPolicy.OverwriteOldest;

    /// <summary>Whether records carry a CRC-32C over header and payload. Default on.</summary>
    internal bool Checksum { get; init; } = true;

    /// <summary>
    /// How long a claimed record may stay uncommitted before readers skip it and producers take its slot. Default 100 ms: longer than usual
    /// scheduling delays, shorter than people notice.
    /// </summary>
    internal TimeSpan ClaimTimeout { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The clock of the limits; read on slow paths only.</summary>
    internal TimeProvider Time { get; init; } = TimeProvider.System;

    /// <summary>The first mistake in the geometry, or null.</summary>
    internal string? Validate()
    {
        if (Capacity < 2 || Capacity > 1 << 24 || !int.IsPow2(Capacity))
        {
            return "The capacity must be a power of two from 2 to 16,777,216 slots.";
        }

        if (SlotSize < 64 || SlotSize > 32_768 || !int.IsPow2(SlotSize))
        {
            return "The slot size must be a power of two from 64 to 32,768 bytes.";
        }

        if (Consumers is < 1 or > 256)
        {
            return "The consumer table must have 1 to 256 entries.";
        }

        return Policy is EventRingPolicy.OverwriteOldest or EventRingPolicy.WaitForSlowest ? null : "The policy is unknown.";
    }
}
