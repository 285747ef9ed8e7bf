namespace Tunnel2.Telemetry.EventRing;

/// <summary>One record of a <see cref="RingBatch"/>.</summary>
/// <param name="Sequence">Its number in the ring; set by the reader.</param>
/// <param name="Offset">The offset of its payload in the batch's buffer.</param>
/// <param name="Length">Length of the payload, bytes.</param>
/// <param name="Type">The type of the payload.</param>
internal readonly record struct RingEntry(long Sequence, int Offset, ushort Length, ushort Type);
