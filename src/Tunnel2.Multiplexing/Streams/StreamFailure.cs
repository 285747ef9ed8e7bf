using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>Who cut a stream short.</summary>
internal enum StreamFailureKind
{
    /// <summary>It was not cut short.</summary>
    None,

    /// <summary>The peer, by RST.</summary>
    PeerReset,

    /// <summary>This side, by RST.</summary>
    LocalReset,

    /// <summary>The uplink ended under it.</summary>
    UplinkLost,
}

/// <summary>Why a stream did not end in order.</summary>
/// <param name="Kind">Who cut it short.</param>
/// <param name="Reason">The reset's reason.</param>
/// <param name="Detail">More about the reason.</param>
/// <param name="UplinkReason">Why the uplink ended.</param>
internal readonly record struct StreamFailure(
    StreamFailureKind Kind,
    StreamResetReason Reason = StreamResetReason.None,
    StreamResetDetail Detail = StreamResetDetail.None,
    SessionEndReason UplinkReason = SessionEndReason.None)
{
    public bool IsNone => Kind == StreamFailureKind.None;

    public StreamSendStatus ToSendStatus() => Kind switch
    {
        StreamFailureKind.None => StreamSendStatus.Sent,
        StreamFailureKind.PeerReset => StreamSendStatus.PeerReset,
        StreamFailureKind.LocalReset => StreamSendStatus.LocalReset,
        _ => StreamSendStatus.UplinkLost,
    };
}
