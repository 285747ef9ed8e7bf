namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Whether the owner of a domain can prove it by a page of the domain.</summary>
internal enum HttpProofMode
{
    /// <summary>No: the server calls no domain.</summary>
    Off,

    /// <summary>Yes, where the domain has public addresses.</summary>
    Public,

    /// <summary>Yes, at any address.</summary>
    Any,
}
