namespace Tunnel2.Http2.Frames;

/// <summary>Why a stream or a connection ended (RFC 9113 section 7). Unknown values are passed on as they are.</summary>
internal enum Http2ErrorCode : uint
{
    /// <summary>No error.</summary>
    NoError = 0x0,

    /// <summary>The peer broke the protocol.</summary>
    ProtocolError = 0x1,

    /// <summary>A fault of the sender.</summary>
    InternalError = 0x2,

    /// <summary>More bytes than were granted, or a window beyond 2^31-1.</summary>
    FlowControlError = 0x3,

    /// <summary>SETTINGS were not acknowledged in time.</summary>
    SettingsTimeout = 0x4,

    /// <summary>A frame for a direction that has ended.</summary>
    StreamClosed = 0x5,

    /// <summary>A frame with a length that its type does not allow.</summary>
    FrameSizeError = 0x6,

    /// <summary>Nothing was done with the request: it may be sent again.</summary>
    RefusedStream = 0x7,

    /// <summary>The sender does not want the stream any more.</summary>
    Cancel = 0x8,

    /// <summary>The header compression cannot be continued.</summary>
    CompressionError = 0x9,

    /// <summary>The connection of a CONNECT failed.</summary>
    ConnectError = 0xa,

    /// <summary>The peer causes too much work.</summary>
    EnhanceYourCalm = 0xb,

    /// <summary>The encryption is not good enough.</summary>
    InadequateSecurity = 0xc,

    /// <summary>HTTP/1.1 has to be used for the request.</summary>
    Http11Required = 0xd,
}
