using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// The form of an address for other machines: without the form of IPv6 that an address of IPv4 has at a socket of both, and without the
/// interface of a link-local address, a number that means something on this machine only.
/// </summary>
internal static class PlainAddress
{
    /// <summary>The address in that form; null of null.</summary>
    public static IPAddress? Of(IPAddress? address) => address is { IsIPv4MappedToIPv6: true } ? address.MapToIPv4()
        : address is { AddressFamily: AddressFamily.InterNetworkV6, ScopeId: not 0 } ? new IPAddress(address.GetAddressBytes())
        : address;

    /// <summary>The address in that form, with its port.</summary>
    public static IPEndPoint Of(IPEndPoint endPoint) => new(Of(endPoint.Address)!, endPoint.Port);
}
