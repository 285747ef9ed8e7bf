using System.Net.Sockets;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>A client's own connection. The server that accepted it owns the socket.</summary>
internal sealed class SocketSink : IHubSink
{
    private readonly Socket _socket;

    internal SocketSink(Socket socket)
    {
        _socket = socket;
        socket.Blocking = false;
    }

    public int Send(byte[] source, int offset, int length, out SocketError error) =>
        _socket.Send(source, offset, length, SocketFlags.None, out error);

    public void Shutdown(SocketShutdown how) => _socket.Shutdown(how);
}
