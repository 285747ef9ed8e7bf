namespace Tunnel2.ProxyEntry.Admin;

/// <summary>The answer of <see cref="AdminAuthorization"/>.</summary>
internal enum AdminAccess
{
    /// <summary>The request is allowed.</summary>
    Allowed,

    /// <summary>The bearer token is missing or wrong (401).</summary>
    WrongToken,

    /// <summary>
    /// No token is configured, and the Host is a name, which a web page of others could have pointed to this address (403).
    /// </summary>
    WrongHost,
}
