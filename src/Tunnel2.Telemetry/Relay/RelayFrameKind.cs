namespace Tunnel2.Telemetry.Relay;

/// <summary>The content of a relay's frame. Part of the wire format: never renumber.</summary>
internal enum RelayFrameKind : byte
{
    /// <summary>Client's first frame: magic(4) version(2) zero(2) ring id or 0 (8) from (8) token, if any.</summary>
    Hello = 1,

    /// <summary>
    /// Server's answer: status(2) version(2) zero(4) ring id(8) first sequence that will follow, as a record or in a gap (8).
    /// </summary>
    Welcome = 2,

    /// <summary>first sequence(8) count(4) zero(4), then per record length(2) type(2) payload; the sequences are consecutive.</summary>
    Records = 3,

    /// <summary>first(8) count(8) reason(1).</summary>
    Gap = 4,

    /// <summary>The client is slow: bytes not sent yet(8) limit(8). At the limit the connection is closed.</summary>
    SlowWarning = 5,

    /// <summary>No record for a while: next sequence(8).</summary>
    Heartbeat = 6,
}
