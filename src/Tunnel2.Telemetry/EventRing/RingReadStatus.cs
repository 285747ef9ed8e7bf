namespace Tunnel2.Telemetry.EventRing;

/// <summary>The result of a poll.</summary>
internal enum RingReadStatus
{
    /// <summary>Nothing new.</summary>
    Empty = 0,

    /// <summary>At least one record.</summary>
    Record,

    /// <summary>Records were missed; the gap has their number. The next poll continues after it.</summary>
    Gap,

    /// <summary>Nothing new, and nothing will follow: the ring was closed or replaced.</summary>
    Closed,
}
