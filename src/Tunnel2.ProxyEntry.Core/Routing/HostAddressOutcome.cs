namespace Tunnel2.ProxyEntry.Routing;

/// <summary>What a Host or <c>:authority</c> says.</summary>
internal enum HostAddressOutcome
{
    /// <summary>It is no host at all: the request is bad (400).</summary>
    Invalid,

    /// <summary>
    /// A well-formed host that no session can have: another domain, the bare domain, an IP address, an impossible name (404).
    /// </summary>
    NotOurDomain,

    /// <summary>It has a public name in it, which may or may not be known.</summary>
    Name,
}
