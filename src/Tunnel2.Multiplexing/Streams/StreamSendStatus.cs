namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// What became of bytes that were given to a stream. An ordinary failure is a value; <see cref="TunnelStream.Failure"/> says more.
/// </summary>
internal enum StreamSendStatus
{
    /// <summary>They are on their way in order.</summary>
    Sent,

    /// <summary>The peer reset the stream, or has said that it wants no more.</summary>
    PeerReset,

    /// <summary>This side has reset the stream.</summary>
    LocalReset,

    /// <summary>The uplink is gone.</summary>
    UplinkLost,
}
