using System.Net;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities;

/// <summary>Whether this machine has the address ::1: containers often have none, though their system knows IPv6.</summary>
public static class LoopbackV6
{
    /// <summary>Whether it has.</summary>
    public static bool IsThere { get; } = IsBound();

    private static bool IsBound()
    {
        try
        {
            using var socket = new Socket(AddressFamily.InterNetworkV6, SocketType.Dgram, ProtocolType.Udp);
            socket.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
