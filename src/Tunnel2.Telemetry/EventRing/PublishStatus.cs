namespace Tunnel2.Telemetry.EventRing;

/// <summary>The result of a publish.</summary>
internal enum PublishStatus
{
    /// <summary>Every reader can see it.</summary>
    Published = 0,

    /// <summary>Longer than <see cref="SharedEventRing.MaxPayload"/>, or of the reserved type 0; nothing was claimed.</summary>
    Invalid,

    /// <summary>Stalled producers hold all slots within reach, or this producer stalled so long that its slot was taken.</summary>
    Dropped,
}
