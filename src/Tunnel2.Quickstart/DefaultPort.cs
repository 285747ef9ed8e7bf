using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Quickstart;

/// <summary>The ports that the documentation names, where they can be had.</summary>
internal static class DefaultPort
{
    public const int Public = 12000;
    public const int Uplink = 12001;
    public const int Admin = 12002;

    /// <summary>Whether the port can be listened on at 127.0.0.1 now. Another process may take it right after.</summary>
    public static bool IsFree(int port)
    {
        try
        {
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            socket.Bind(new IPEndPoint(IPAddress.Loopback, port));

            // Only a listening socket finds out: a second bind alone may succeed.
            socket.Listen(1);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
