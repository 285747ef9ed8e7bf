namespace Tunnel2.Http1;

/// <summary>The form of a request target (RFC 9112 section 3.2). Authority-form belongs to CONNECT, which is refused.</summary>
internal enum TargetForm : byte
{
    /// <summary>Not known yet.</summary>
    None,

    /// <summary>An absolute path with an optional query: <c>/a?b</c>.</summary>
    Origin,

    /// <summary>A whole http or https URI: <c>http://host/a?b</c>.</summary>
    Absolute,

    /// <summary><c>*</c>, for OPTIONS only.</summary>
    Asterisk,
}
