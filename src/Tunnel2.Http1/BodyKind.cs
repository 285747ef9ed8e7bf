namespace Tunnel2.Http1;

/// <summary>How the body after a head is delimited (RFC 9112 section 6.3).</summary>
internal enum BodyKind : byte
{
    /// <summary>No body byte follows (also for Content-Length: 0).</summary>
    None,

    /// <summary>Exactly Content-Length bytes follow, at least one.</summary>
    Length,

    /// <summary>The chunked coding follows.</summary>
    Chunked,

    /// <summary>All bytes until the connection ends; responses only.</summary>
    UntilClose,
}
