namespace Tunnel2.Telemetry.EventRing;

/// <summary>What a poll found.</summary>
internal enum RingReadStatus
{
    /// <summary>Nothing new.</summary>
    Empty = 0,

    /// <summary>At least one record.</summary>
    Record,

    /// <summary>Records were missed; the gap says how many. The next poll goes on after it.</summary>
    Gap,

    /// <summary>Nothing new, and nothing will come: the ring was closed or replaced.</summary>
    Closed,
}
