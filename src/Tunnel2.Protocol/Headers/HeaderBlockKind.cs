namespace Tunnel2.Protocol.Headers;

/// <summary>The kind of a header block: its first byte.</summary>
public enum HeaderBlockKind : byte
{
    /// <summary>Never sent.</summary>
    None = 0,

    /// <summary>A request: flags, method, scheme, authority, target, fields.</summary>
    Request = 1,

    /// <summary>A response, interim (1xx) or final: flags, status, reason phrase, fields.</summary>
    Response = 2,

    /// <summary>Trailers of either direction: flags, fields.</summary>
    Trailers = 3,

    /// <summary>
    /// A request that one node of a cluster passes to another: facts about its first hop, and then a <see cref="Request"/> block. Only on
    /// node links, and read by <see cref="NodeRequest"/>.
    /// </summary>
    NodeRequest = 4,
}
