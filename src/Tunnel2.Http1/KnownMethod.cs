namespace Tunnel2.Http1;

/// <summary>The methods whose meaning matters to a proxy; names are case-sensitive (RFC 9110 section 9.1).</summary>
internal enum KnownMethod : byte
{
    /// <summary>Any other method.</summary>
    Other,

    /// <summary>GET.</summary>
    Get,

    /// <summary>HEAD: its response has no body.</summary>
    Head,

    /// <summary>POST.</summary>
    Post,

    /// <summary>PUT.</summary>
    Put,

    /// <summary>PATCH.</summary>
    Patch,

    /// <summary>DELETE.</summary>
    Delete,

    /// <summary>OPTIONS: the only method with an asterisk-form target.</summary>
    Options,

    /// <summary>TRACE: never has a body.</summary>
    Trace,

    /// <summary>CONNECT: a 2xx response turns the connection into a tunnel.</summary>
    Connect,
}
