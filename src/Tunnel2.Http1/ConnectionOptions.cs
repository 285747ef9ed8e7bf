namespace Tunnel2.Http1;

/// <summary>The options found in a message's Connection fields (RFC 9110 section 7.6.1).</summary>
[Flags]
internal enum ConnectionOptions : byte
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary><c>close</c>.</summary>
    Close = 1,

    /// <summary><c>keep-alive</c>.</summary>
    KeepAlive = 2,

    /// <summary><c>upgrade</c>.</summary>
    Upgrade = 4,

    /// <summary>At least one other option: the name of a field that must not be forwarded.</summary>
    Other = 8,
}
