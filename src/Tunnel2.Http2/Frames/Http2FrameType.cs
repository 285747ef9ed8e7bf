namespace Tunnel2.Http2.Frames;

/// <summary>The type of a frame (RFC 9113 section 6). Unknown types are ignored.</summary>
internal enum Http2FrameType : byte
{
    /// <summary>Bytes of a body; under flow control.</summary>
    Data = 0,

    /// <summary>The beginning of a header block: a head or trailers.</summary>
    Headers = 1,

    /// <summary>Deprecated; ignored.</summary>
    Priority = 2,

    /// <summary>Ends a stream at once.</summary>
    RstStream = 3,

    /// <summary>What the sender wants the peer to keep to.</summary>
    Settings = 4,

    /// <summary>A response that was not asked for; this client never allows it.</summary>
    PushPromise = 5,

    /// <summary>Asks for an answer.</summary>
    Ping = 6,

    /// <summary>The sender takes no new streams.</summary>
    GoAway = 7,

    /// <summary>Grants bytes.</summary>
    WindowUpdate = 8,

    /// <summary>More of a header block.</summary>
    Continuation = 9,
}
