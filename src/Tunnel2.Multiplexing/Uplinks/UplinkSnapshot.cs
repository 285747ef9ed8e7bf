namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>What an uplink did and holds, for metrics. Cheap to take; the numbers may be of slightly different moments.</summary>
/// <param name="BytesReceived">Bytes, frame headers included.</param>
/// <param name="FramesReceived">Frames of all types.</param>
/// <param name="Receives">Receives that brought something.</param>
/// <param name="BytesSent">Bytes, frame headers included.</param>
/// <param name="FramesSent">Frames of all types.</param>
/// <param name="Flushes">Sends: <paramref name="BytesSent"/> over this is the size of a batch.</param>
/// <param name="StreamsOpened">Streams opened or accepted.</param>
/// <param name="OpenStreams">Streams that are open now.</param>
/// <param name="CreditWaits">How often a stream had bytes to send and no credit for them.</param>
/// <param name="StarvingStreams">Streams that wait for the uplink's credit now.</param>
/// <param name="OutstandingBytes">Body bytes sent that the peer has not consumed yet, as far as its credit says.</param>
/// <param name="SendingBytes">Bytes of the send that is under way.</param>
/// <param name="WindowGrowth">Bytes by which windows of streams that are open have grown.</param>
/// <param name="LastRoundTrip">The last PING's, or zero.</param>
/// <param name="MinRoundTrip">The shortest PING's, or zero.</param>
internal readonly record struct UplinkSnapshot(
    long BytesReceived,
    long FramesReceived,
    long Receives,
    long BytesSent,
    long FramesSent,
    long Flushes,
    long StreamsOpened,
    int OpenStreams,
    long CreditWaits,
    int StarvingStreams,
    long OutstandingBytes,
    int SendingBytes,
    long WindowGrowth,
    TimeSpan LastRoundTrip,
    TimeSpan MinRoundTrip);
