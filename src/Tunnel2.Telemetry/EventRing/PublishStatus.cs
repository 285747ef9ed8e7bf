namespace Tunnel2.Telemetry.EventRing;

/// <summary>What became of a publish.</summary>
internal enum PublishStatus
{
    /// <summary>Every reader can see it.</summary>
    Published = 0,

    /// <summary>Longer than <see cref="SharedEventRing.MaxPayload"/>, or of the reserved type 0; nothing was claimed.</summary>
    Invalid,

    /// <summary>
    /// The slots within reach are held by producers that stalled in the middle of a record, or this one stalled so long that its slot was
    /// taken.
    /// </summary>
    Dropped,
}
