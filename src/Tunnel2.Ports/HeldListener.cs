using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Ports;

/// <summary>A listening socket with its name in tunnel2-entry. This process never accepts from it.</summary>
/// <param name="Name">public, https, uplink or admin.</param>
/// <param name="Socket">The listening socket.</param>
internal sealed record HeldListener(string Name, Socket Socket)
{
    /// <summary>The same as in tunnel2-entry; the kernel limits it to <c>net.core.somaxconn</c>.</summary>
    private const int Backlog = 4096;

    /// <summary>Its address.</summary>
    public EndPoint EndPoint => Socket.LocalEndPoint!;

    /// <summary>Listens, with the options of tunnel2-entry's own listeners, which sets further ones itself.</summary>
    /// <exception cref="IOException">The address is not available.</exception>
    public static HeldListener Start(string name, IPEndPoint endPoint)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            if (endPoint.Address.Equals(IPAddress.IPv6Any))
            {
                socket.DualMode = true;
            }

            socket.Bind(endPoint);
            socket.Listen(Backlog);
            return new HeldListener(name, socket);
        }
        catch (SocketException exception)
        {
            socket.Dispose();
            throw new IOException($"Failed to bind to address {endPoint} ({name}): {exception.Message}", exception);
        }
    }
}
