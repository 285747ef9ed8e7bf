namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// What a side can do beyond version 1's minimum (32 bits). Unknown bits are ignored; the answer has the bits of both sides.
/// </summary>
[Flags]
public enum HandshakeCapabilities : uint
{
    /// <summary>Version 1's minimum.</summary>
    None = 0,

    /// <summary>The session may have several uplinks (JOIN).</summary>
    MultipleUplinks = 1,
}
