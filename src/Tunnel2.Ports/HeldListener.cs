using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Ports;

/// <summary>A listening socket with the name that tunnel2-entry knows it by. Nobody accepts from it here.</summary>
/// <param name="Name">public, https, uplink or admin.</param>
/// <param name="Socket">The socket, which listens.</param>
internal sealed record HeldListener(string Name, Socket Socket)
{
    /// <summary>As long as tunnel2-entry's own; the kernel caps it at <c>net.core.somaxconn</c>.</summary>
    private const int Backlog = 4096;

    /// <summary>Where it listens.</summary>
    public EndPoint EndPoint => Socket.LocalEndPoint!;

    /// <summary>Listens, with the options of tunnel2-entry's own listeners; it sets further ones itself.</summary>
    /// <exception cref="IOException">The address cannot be had.</exception>
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
