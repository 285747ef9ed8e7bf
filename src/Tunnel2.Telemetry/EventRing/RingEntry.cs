namespace Tunnel2.Telemetry.EventRing;

/// <summary>One record of a <see cref="RingBatch"/>.</summary>
/// <param name="Sequence">Its number in the ring; set by the reader.</param>
/// <param name="Offset">Where its payload starts in the batch's buffer.</param>
/// <param name="Length">Length of the payload, bytes.</param>
/// <param name="Type">What the payload is.</param>
internal readonly record struct RingEntry(long Sequence, int Offset, ushort Length, ushort Type);
