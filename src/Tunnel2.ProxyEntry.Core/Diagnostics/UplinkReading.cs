namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>What all uplinks together hold at a moment.</summary>
/// <param name="Uplinks">Open connections of agents.</param>
/// <param name="Streams">Streams open on them.</param>
/// <param name="WaitingStreams">Streams that wait for their turn or for the uplink's credit.</param>
/// <param name="OutstandingBytes">Bytes sent to agents for which no credit came back yet.</param>
/// <param name="Stalled">Uplinks that get no new streams because nothing shows that bytes arrive.</param>
/// <param name="RoundTrip">The mean of the last round trips; zero before the first.</param>
/// <param name="LongestRoundTrip">The longest of the last round trips.</param>
internal readonly record struct UplinkReading(
    int Uplinks, long Streams, long WaitingStreams, long OutstandingBytes, int Stalled, TimeSpan RoundTrip, TimeSpan LongestRoundTrip);
