namespace Tunnel2.ProxyEntry.Admin;

/// <summary>The answer of <see cref="AdminAuthorization"/>.</summary>
internal enum AdminAccess
{
    /// <summary>The request may go on.</summary>
    Allowed,

    /// <summary>The bearer token is missing or wrong (401).</summary>
    WrongToken,

    /// <summary>No token is configured, and the Host is a name that a foreign page could have pointed here (403).</summary>
    WrongHost,
}
