using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Has the system ask a silent peer whether its own system is still there (TCP keepalive). Silence has no limit, so a peer that is gone
/// without a word is noticed in no other way.
/// </summary>
internal static class SilentPeers
{
    /// <summary>Seconds of silence before the first question.</summary>
    private const int After = 60;

    /// <summary>Seconds between the questions.</summary>
    private const int Between = 15;
    private const int Questions = 4;

    private const int SoKeepAlive = 9;
    private const int TcpKeepIdle = 4;
    private const int TcpKeepInterval = 5;
    private const int TcpKeepCount = 6;

    /// <summary>Sets it on a TCP socket, or on a listener for all connections that it accepts.</summary>
    public static void AskOn(Socket socket)
    {
        try
        {
            socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime, After);
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval, Between);
            socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveRetryCount, Questions);
        }
        catch (SocketException)
        {
            // A system without these options keeps its own.
        }
    }

    /// <summary>Sets it on a TCP socket of Linux.</summary>
    public static void AskOn(int descriptor)
    {
        Set(descriptor, Libc.SolSocket, SoKeepAlive, 1);
        Set(descriptor, Libc.IpProtoTcp, TcpKeepIdle, After);
        Set(descriptor, Libc.IpProtoTcp, TcpKeepInterval, Between);
        Set(descriptor, Libc.IpProtoTcp, TcpKeepCount, Questions);
    }

    private static unsafe void Set(int descriptor, int level, int option, int value) =>
        _ = Libc.SetSocketOption(descriptor, level, option, &value, sizeof(int));
}
