namespace Tunnel2.ProxyEntry.Routing;

/// <summary>The result of reading a request target in test mode.</summary>
internal enum PathAddressOutcome
{
    /// <summary>It is not below <c>/session/</c>: the host decides.</summary>
    NotASession,

    /// <summary>It is below <c>/session/</c>, but what follows cannot be a name (404).</summary>
    Invalid,

    /// <summary>It contains a public name, known or not.</summary>
    Name,
}
