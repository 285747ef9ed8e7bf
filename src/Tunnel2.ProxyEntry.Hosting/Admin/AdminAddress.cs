using System.Net;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>The address of the admin listener for people. Stateless.</summary>
internal static class AdminAddress
{
    /// <summary>
    /// A URL that a browser on this machine can open: a listener on all addresses is there on loopback too. It is that of IPv4, which a
    /// listener on <c>[::]</c> takes as well, and which a container without IPv6 has.
    /// </summary>
    public static string UrlOf(IPEndPoint endPoint)
    {
        var address = endPoint.Address.Equals(IPAddress.Any) || endPoint.Address.Equals(IPAddress.IPv6Any)
            ? IPAddress.Loopback
            : endPoint.Address;
        return $"http://{new IPEndPoint(address, endPoint.Port)}/";
    }
}
