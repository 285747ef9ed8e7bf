namespace Tunnel2.Http1;

/// <summary>The version a message was sent in.</summary>
internal enum Http1Version : byte
{
    /// <summary>Not known yet.</summary>
    None,

    /// <summary>HTTP/1.0.</summary>
    Http10,

    /// <summary>HTTP/1.1.</summary>
    Http11,
}
