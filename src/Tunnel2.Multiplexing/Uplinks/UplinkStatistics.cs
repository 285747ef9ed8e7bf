namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// What an uplink did so far. Each field is written by one loop only and may be read by anyone at any time; a read may be a moment old.
/// </summary>
internal sealed class UplinkStatistics
{
    public long BytesReceived { get; set; }

    public long FramesReceived { get; set; }

    public long Receives { get; set; }

    public long BytesSent { get; set; }

    public long FramesSent { get; set; }

    public long Flushes { get; set; }

    public long StreamsOpened { get; set; }

    /// <summary>The last round trip of a PING in microseconds, or 0.</summary>
    public long RoundTripMicroseconds { get; set; }
}
