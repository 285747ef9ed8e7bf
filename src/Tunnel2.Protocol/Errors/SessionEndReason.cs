namespace Tunnel2.Protocol.Errors;

/// <summary>Why a session or one of its uplinks ended (16 bits in GOAWAY). The first reason is kept.</summary>
public enum SessionEndReason : ushort
{
    /// <summary>It has not ended.</summary>
    None = 0,

    /// <summary>This side was asked to stop.</summary>
    Shutdown = 1,

    /// <summary>The peer announced that it stops.</summary>
    PeerGoingAway = 2,

    /// <summary>The peer closed the connection.</summary>
    PeerClosed = 3,

    /// <summary>Reading or writing the connection failed.</summary>
    TransportFailed = 4,

    /// <summary>Nothing arrived for the time after which a peer counts as dead.</summary>
    PeerSilent = 5,

    /// <summary>The peer broke the protocol; the <see cref="Errors.ProtocolError"/> has the details.</summary>
    ProtocolError = 6,

    /// <summary>More control frames were queued than the limit.</summary>
    ControlQueueOverflow = 7,

    /// <summary>The same identity registered the name again elsewhere.</summary>
    Superseded = 8,

    /// <summary>The handshake did not finish in time.</summary>
    HandshakeTimeout = 9,

    /// <summary>The handshake was refused.</summary>
    Rejected = 10,

    /// <summary>A fault of this side itself.</summary>
    Internal = 11,

    /// <summary>One write made no progress for longer than the stall limit.</summary>
    WriteStalled = 12,

    /// <summary>The agent's token, certificate or right to its name was withdrawn while the session ran.</summary>
    Revoked = 13,

    /// <summary>The agent is about to stop and serves until then. Any agent that may claim its name can have it.</summary>
    HandOver = 14,
}
