using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>The socket options of visitors' listeners, which accepted connections inherit.</summary>
internal static class VisitorSockets
{
    private const int IpProtoTcp = 6;
    private const int TcpUserTimeout = 18;

    /// <summary>
    /// A visitor whose network is gone acknowledges nothing. Without a limit the kernel tries for a quarter of an hour, while a slow
    /// response flows into its buffers. Accepted connections inherit the limit.
    /// </summary>
    /// <param name="listener">The listening socket.</param>
    /// <param name="limit">How long bytes may stay unacknowledged.</param>
    public static void LimitSilence(Socket listener, TimeSpan limit)
    {
        if (!OperatingSystem.IsLinux() || limit <= TimeSpan.Zero)
        {
            return;
        }

        try
        {
            listener.SetRawSocketOption(
                IpProtoTcp, TcpUserTimeout, BitConverter.GetBytes((int)Math.Min(limit.TotalMilliseconds, int.MaxValue)));
        }
        catch (SocketException)
        {
            // A system without this option keeps its own limit.
        }
    }
}
