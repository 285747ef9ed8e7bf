namespace Tunnel2.Protocol.Headers;

/// <summary>The flags of a header block: its second byte. Unknown bits are sent as 0 and ignored.</summary>
[Flags]
public enum HeaderBlockFlags : byte
{
    /// <summary>No flag.</summary>
    None = 0,

    /// <summary>
    /// Request: the visitor asked to switch protocols. The block has an <c>Upgrade</c> field, and the agent adds <c>Connection:
    /// upgrade</c>, which is hop-by-hop and so never crosses the uplink. Response: the backend switched (101), and raw bytes follow both
    /// ways.
    /// </summary>
    Upgrade = 0x01,

    /// <summary>
    /// Response on a node link: at the owning node, the link and the uplink of the session are on different event loops, so each byte
    /// crosses. On an uplink it means nothing.
    /// </summary>
    Crossed = 0x02,

    /// <summary>Request: the visitor's version of HTTP is 2. It changes nothing for the request: inspectors show it.</summary>
    Http2 = 0x04,
}
