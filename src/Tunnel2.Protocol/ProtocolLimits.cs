namespace Tunnel2.Protocol;

/// <summary>
/// The fixed limits of the uplink protocol (docs/protocol.md, "Limits"). All are checked from the fixed frame header, or while a block is
/// read, before anything is buffered for it.
/// </summary>
public static class ProtocolLimits
{
    /// <summary>The largest DATA payload, and how many body bytes a HEADERS frame may have after its block: 16 KiB.</summary>
    public const int MaxDataLength = 16 * 1024;

    /// <summary>The largest header block: 64 KiB.</summary>
    public const int MaxHeaderBlockLength = 64 * 1024;

    /// <summary>The largest number of fields in a header block: 200.</summary>
    public const int MaxHeaderFields = 200;

    /// <summary>The bytes before a header block in a HEADERS payload: the block's length in 24 bits.</summary>
    public const int HeaderBlockPrefixLength = 3;

    /// <summary>The largest HEADERS payload: prefix, block and first body bytes.</summary>
    public const int MaxHeadersLength = HeaderBlockPrefixLength + MaxHeaderBlockLength + MaxDataLength;

    /// <summary>The largest HELLO payload in bytes: one with access rules may be long.</summary>
    public const int MaxHelloLength = 32 * 1024;

    /// <summary>The largest WELCOME payload in bytes.</summary>
    public const int MaxWelcomeLength = 16 * 1024;

    /// <summary>The largest REJECT payload in bytes.</summary>
    public const int MaxRejectLength = 2 * 1024;

    /// <summary>The largest JOIN payload in bytes.</summary>
    public const int MaxJoinLength = 1024;

    /// <summary>The largest GOAWAY payload in bytes.</summary>
    public const int MaxGoAwayLength = 1024;

    /// <summary>The exact RST payload in bytes: reason (16 bits), detail (16 bits).</summary>
    public const int RstLength = 4;

    /// <summary>The exact WINDOW payload in bytes: the increment (32 bits).</summary>
    public const int WindowLength = 4;

    /// <summary>The exact PING payload in bytes: opaque data that the answer repeats.</summary>
    public const int PingLength = 8;

    /// <summary>Payload of SERVICE, exactly.</summary>
    public const int ServiceLength = 5;

    /// <summary>The smallest NODES payload in bytes: a counter and three lengths.</summary>
    public const int MinNodesLength = 7;

    /// <summary>The largest NODES payload in bytes: 16 nodes with fields as long as they may be.</summary>
    public const int MaxNodesLength = 8 * 1024;

    /// <summary>The largest payload of a frame whose type this version does not know; it is skipped, never buffered whole.</summary>
    public const int MaxUnknownLength = 16 * 1024;

    /// <summary>The largest of all frames, header included: the smallest size for a receive buffer.</summary>
    public const int MaxFrameLength = Frames.FrameHeader.Size + MaxHeadersLength;

    /// <summary>The largest credit, 2^31 − 1 bytes (RFC 9113 section 6.9.1 has the same limit).</summary>
    public const long MaxCredit = int.MaxValue;

    /// <summary>A stream's credit at its start unless the handshake says otherwise: 256 KiB.</summary>
    public const int DefaultStreamWindow = 256 * 1024;

    /// <summary>An uplink's credit at its start unless the handshake says otherwise: 32 MiB.</summary>
    public const int DefaultUplinkWindow = 32 * 1024 * 1024;

    /// <summary>The smallest window a handshake may ask for: one full DATA frame.</summary>
    public const int MinWindow = MaxDataLength;

    /// <summary>The largest number of slots of an uplink: slot numbers have 16 bits.</summary>
    public const int MaxSlots = 65_536;

    /// <summary>The longest time between an accepted connection and a complete HELLO or JOIN: 10 s.</summary>
    public static readonly TimeSpan HandshakeTimeout = TimeSpan.FromSeconds(10);
}
