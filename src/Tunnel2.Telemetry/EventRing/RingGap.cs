namespace Tunnel2.Telemetry.EventRing;

/// <summary>A range of sequence numbers that a reader did not get. Records and gaps together cover every number once.</summary>
/// <param name="First">The first missing number.</param>
/// <param name="Count">How many are missing.</param>
/// <param name="Reason">Why.</param>
internal readonly record struct RingGap(long First, long Count, RingGapReason Reason);
