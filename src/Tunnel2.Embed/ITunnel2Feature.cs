using System.Net;

namespace Tunnel2.Embed;

/// <summary>
/// Says of a request that it came through the tunnel, and from whom: <c>context.Features.Get&lt;ITunnel2Feature&gt;()</c>, which is null
/// for requests on other ports.
/// </summary>
public interface ITunnel2Feature
{
    /// <summary>The tunnel's public name.</summary>
    string Name { get; }

    /// <summary>The tunnel's main public URL.</summary>
    Uri? PublicUrl { get; }

    /// <summary>
    /// The visitor's address, as the server says it; null where it says none. It is the connection's <c>RemoteIpAddress</c> too.
    /// </summary>
    IPAddress? VisitorAddress { get; }
}
