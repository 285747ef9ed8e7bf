namespace Tunnel2.ProxyEntry.Admin;

/// <summary>The answer of <see cref="AdminAuthorization"/>.</summary>
internal enum AdminAccess
{
    /// <summary>The request is allowed.</summary>
    Allowed,

    /// <summary>The bearer token is missing or wrong (401).</summary>
    WrongToken,

    /// <summary>
    /// The Host is a name that a web page of others could have pointed to this address (403).
    /// </summary>
    WrongHost,

    /// <summary>Too many wrong tokens came from this address; a good one is not looked at either (429).</summary>
    TooManyAttempts,
}
