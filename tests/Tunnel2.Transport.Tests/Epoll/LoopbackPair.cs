using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>Connected sockets of loopback.</summary>
internal static class LoopbackPair
{
    public static async Task<(Socket Left, Socket Right)> ConnectAsync()
    {
        using var listener = Bind();
        listener.Listen(1);
        var left = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await left.ConnectAsync(listener.LocalEndPoint!);
        return (left, await listener.AcceptAsync());
    }

    public static Socket Bind()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return socket;
    }

    public static void Fill(Span<byte> bytes, int seed, long offset)
    {
        for (var i = 0; i < bytes.Length; i++)
        {
            bytes[i] = (byte)(((offset + i) * 7) + ((offset + i) >> 9) + seed);
        }
    }
}
