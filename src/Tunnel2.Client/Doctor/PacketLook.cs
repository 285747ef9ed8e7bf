using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;

namespace Tunnel2.Client.Doctor;

/// <summary>Looks at the largest packet (MTU) that the interface towards the server takes.</summary>
internal static class PacketLook
{
    private const string Name = "mtu";

    /// <summary>What IPv6 wants at least, and what networks for IPv4 do too.</summary>
    private const int Least = 1280;

    /// <summary>Looks at the interface of a connection.</summary>
    public static Finding Run(Socket socket)
    {
        if (socket.LocalEndPoint is not IPEndPoint { Address: var address })
        {
            return Judge("", null);
        }

        try
        {
            address = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
            foreach (NetworkInterface one in NetworkInterface.GetAllNetworkInterfaces())
            {
                IPInterfaceProperties properties = one.GetIPProperties();
                if (properties.UnicastAddresses.Any(own => own.Address.Equals(address)))
                {
                    return Judge(one.Name, address.AddressFamily == AddressFamily.InterNetwork
                        ? properties.GetIPv4Properties()?.Mtu
                        : properties.GetIPv6Properties()?.Mtu);
                }
            }
        }
        catch (Exception exception) when (exception is NetworkInformationException or PlatformNotSupportedException)
        {
            // A system that does not say it.
        }

        return Judge("", null);
    }

    /// <summary>Says what a size means.</summary>
    /// <param name="name">The interface.</param>
    /// <param name="size">Its largest packet in bytes; null: not known.</param>
    internal static Finding Judge(string name, int? size) => size switch
    {
        null or <= 0 => Finding.Skipped(Name, "the system does not say how large packets to the server may be"),
        < Least => Finding.Warning(
            Name, $"{name} takes packets of {size} bytes, less than {Least}: a VPN or a tunnel in which large answers may stall",
            $"raise it: ip link set {name} mtu {Least}; or let the VPN clamp the segments of TCP (MSS)"),
        _ => Finding.Ok(Name, $"{name} takes packets of {size} bytes"),
    };
}
