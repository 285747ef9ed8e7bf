using System.Net.Sockets;

namespace Tunnel2.Transport.Sockets;

/// <summary>The socket options of an uplink with their reasons, and the name of its peer.</summary>
internal static class SocketTuning
{
    /// <summary>The option with which Linux ends a connection whose peer acknowledges nothing.</summary>
    public const int LinuxTcpUserTimeout = 18;

    /// <summary>The option with which Linux reports the state of a connection.</summary>
    public const int LinuxTcpInfo = 11;

    /// <summary>The offset of <c>tcpi_total_retrans</c> in the kernel's <c>struct tcp_info</c>, which only grows at its end.</summary>
    public const int TotalRetransmitsOffset = 100;

    /// <summary>If sent bytes stay unacknowledged for this long, the connection ends, also when no PING can be written.</summary>
    public const int UserTimeoutMilliseconds = 20_000;

    private const int LinuxIpProtoTcp = 6;

    /// <summary>Sets the options of an uplink on its connection.</summary>
    public static void ApplyToUplink(Socket socket)
    {
        // The writer makes its own batches, so the kernel must not wait for more.
        socket.NoDelay = true;
        UnsentBytes.LimitOn(socket);
        UnreadBytes.LimitOn(socket);
        if (OperatingSystem.IsLinux() && socket.AddressFamily is AddressFamily.InterNetwork or AddressFamily.InterNetworkV6)
        {
            TrySet(socket, LinuxTcpUserTimeout, UserTimeoutMilliseconds);
        }

        LoopbackCongestion.ApplyTo(socket);
    }

    /// <summary>The peer's address, for people.</summary>
    public static string RemoteNameOf(Socket socket)
    {
        try
        {
            return socket.RemoteEndPoint?.ToString() ?? "unknown";
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return "unknown";
        }
    }

    /// <summary>How many segments the kernel has sent again on a connection; 0 if it does not report it.</summary>
    public static long ReadRetransmittedSegments(Socket socket)
    {
        if (!OperatingSystem.IsLinux())
        {
            return 0;
        }

        try
        {
            Span<byte> info = stackalloc byte[TotalRetransmitsOffset + sizeof(uint)];
            return socket.GetRawSocketOption(LinuxIpProtoTcp, LinuxTcpInfo, info) == info.Length
                ? BitConverter.ToUInt32(info[TotalRetransmitsOffset..])
                : 0;
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return 0;
        }
    }

    private static void TrySet(Socket socket, int option, int value)
    {
        try
        {
            Span<byte> bytes = stackalloc byte[sizeof(int)];
            BitConverter.TryWriteBytes(bytes, value);
            socket.SetRawSocketOption(LinuxIpProtoTcp, option, bytes);
        }
        catch (SocketException)
        {
            // If a kernel lacks an option, this costs fairness or speed and not correctness.
        }
    }
}
