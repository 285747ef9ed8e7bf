namespace Tunnel2.Protocol.Errors;

/// <summary>
/// The error in bytes that a peer sent. Every value ends the session (see <see cref="SessionEndReason.ProtocolError"/>), because afterwards
/// the two ends no longer agree about the state of the uplink.
/// </summary>
public enum ProtocolError
{
    /// <summary>No error.</summary>
    None = 0,

    /// <summary>The header announces more bytes than the frame's type may have.</summary>
    FrameTooLong,

    /// <summary>The payload is shorter than the frame's type needs.</summary>
    FrameTooShort,

    /// <summary>The frame's type is 0.</summary>
    ReservedFrameType,

    /// <summary>The frame's type is unknown and flagged critical.</summary>
    UnknownCriticalFrame,

    /// <summary>A stream frame names the uplink, an uplink frame names a stream, or a generation is 0.</summary>
    InvalidStreamId,

    /// <summary>A WINDOW increment is 0 or above 2^31 − 1.</summary>
    InvalidWindowIncrement,

    /// <summary>A GOAWAY has an unknown phase.</summary>
    InvalidGoAway,

    /// <summary>The header block is longer than the limit or than its frame.</summary>
    HeaderBlockTooLong,

    /// <summary>The header block has more fields than the limit.</summary>
    TooManyHeaderFields,

    /// <summary>A length inside a header block is beyond the block's end, or bytes are left over.</summary>
    MalformedHeaderBlock,

    /// <summary>The header block's kind is unknown, or not allowed here.</summary>
    UnexpectedHeaderBlock,

    /// <summary>More body bytes follow a block in the same frame than the limit.</summary>
    HeadersBodyTooLong,

    /// <summary>The first frame is neither HELLO nor JOIN (at ProxyEntry), or not their answer (at the agent).</summary>
    HandshakeExpected,

    /// <summary>A handshake frame came after the handshake.</summary>
    UnexpectedHandshake,

    /// <summary>A handshake message's magic is wrong: the peer does not speak Tunnel2.</summary>
    WrongMagic,

    /// <summary>A length inside a handshake message is beyond the message's end, or a value is out of range.</summary>
    MalformedHandshake,

    /// <summary>A frame came for a generation that was never opened.</summary>
    UnknownStream,

    /// <summary>The agent tried to open a stream, or ProxyEntry opened one in a slot that is not free.</summary>
    StreamNotAllowed,

    /// <summary>A frame came on a direction that has ended, or a body came before its head.</summary>
    FrameAfterEnd,

    /// <summary>More bytes came than the stream's credit allowed.</summary>
    StreamCreditOverrun,

    /// <summary>More bytes came than the uplink's credit allowed.</summary>
    UplinkCreditOverrun,

    /// <summary>A WINDOW would raise the credit above 2^31 − 1.</summary>
    CreditOverflow,

    /// <summary>More streams were opened than the handshake allowed.</summary>
    TooManyStreams,

    /// <summary>Frames that carry nothing, or lists of nodes, came faster than a correct peer sends them.</summary>
    EmptyFrameFlood,

    /// <summary>A length inside NODES is beyond its end.</summary>
    MalformedNodes,
}
