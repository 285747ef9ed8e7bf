namespace Tunnel2.ProxyEntry.Routing;

/// <summary>What a request target says in test mode.</summary>
internal enum PathAddressOutcome
{
    /// <summary>It is not below <c>/session/</c>: the host decides.</summary>
    NotASession,

    /// <summary>It is below <c>/session/</c>, but what follows cannot be a name (404).</summary>
    Invalid,

    /// <summary>It has a public name in it, which may or may not be known.</summary>
    Name,
}
