namespace Tunnel2.ProxyEntry.Routing;

/// <summary>What a Host or <c>:authority</c> says.</summary>
internal enum HostAddressOutcome
{
    /// <summary>It is not a host: the request is bad (400).</summary>
    Invalid,

    /// <summary>A valid host that no session can have: another domain, the bare domain, an IP address, an impossible name (404).</summary>
    NotOurDomain,

    /// <summary>It contains a public name, known or not.</summary>
    Name,
}
