namespace Tunnel2.Laboratory.EventRing;

/// <summary>What became of a publish that waits for readers.</summary>
internal enum WaitingStatus
{
    /// <summary>Every reader can see it.</summary>
    Published = 0,

    /// <summary>No room, and the call does not wait (or the callback said stop).</summary>
    Full,

    /// <summary>Longer than the ring's slots, or of the reserved type 0; nothing was claimed.</summary>
    Invalid,

    /// <summary>The slots within reach are held by producers that stalled in the middle of a record.</summary>
    Dropped,
}
