using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Domains;

/// <summary>
/// Which addresses are in the public internet: an agent must not make the server call machines of its own network, or itself. Pure.
/// </summary>
internal static class PublicNetworks
{
    /// <summary>The networks of IANA's registry of special-purpose addresses that no public service has, and multicast.</summary>
    private static readonly IPNetwork[] _special =
    [
        .. ((string[])
        [
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
            "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
            "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
        ]).Select(IPNetwork.Parse),
    ];

    private static readonly IPNetwork _global = IPNetwork.Parse("2000::/3");

    /// <summary>Whether an address is public.</summary>
    public static bool Has(IPAddress address)
    {
        address = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        return (address.AddressFamily == AddressFamily.InterNetwork || _global.Contains(address))
            && !Array.Exists(_special, network => network.Contains(address));
    }
}
