namespace Tunnel2.Client.Core.Events;

/// <summary>The uplinks of a session at one moment.</summary>
/// <param name="Open">How many are open.</param>
/// <param name="Stalled">How many of them get no new requests, because nothing shows that bytes arrive.</param>
/// <param name="Shortest">The shortest of their last round trips; zero: none is measured yet.</param>
/// <param name="Longest">The longest of them.</param>
/// <param name="WebSockets">How many of those that are open go over WebSocket.</param>
public readonly record struct UplinkReading(int Open, int Stalled, TimeSpan Shortest, TimeSpan Longest, int WebSockets = 0);
