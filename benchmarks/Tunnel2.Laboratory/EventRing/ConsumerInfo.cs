namespace Tunnel2.Laboratory.EventRing;

/// <summary>What the table shows about a registered consumer.</summary>
/// <param name="Name">As given when it registered.</param>
/// <param name="ProcessId">The consumer's process.</param>
/// <param name="Cursor">The next sequence number it will read.</param>
/// <param name="IsSkipped">A producer continued without it.</param>
internal readonly record struct ConsumerInfo(string Name, int ProcessId, long Cursor, bool IsSkipped);
