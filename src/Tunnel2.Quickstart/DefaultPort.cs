using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Quickstart;

/// <summary>The ports that the documentation names, if they are free.</summary>
internal static class DefaultPort
{
    public const int Public = 12000;
    public const int Uplink = 12001;
    public const int Admin = 12002;

    /// <summary>Whether 127.0.0.1 can listen on the port now. Another process may take it directly after.</summary>
    public static bool IsFree(int port)
    {
        try
        {
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            socket.Bind(new IPEndPoint(IPAddress.Loopback, port));

            // Only listening shows it: a second bind alone may succeed.
            socket.Listen(1);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
