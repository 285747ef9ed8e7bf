using System.Net.Sockets;

namespace Tunnel2.Transport.Sockets;

/// <summary>The socket options of an uplink, why each is set, and its peer's name.</summary>
internal static class SocketTuning
{
    /// <summary>The option by which Linux ends a connection that nobody acknowledges.</summary>
    public const int LinuxTcpUserTimeout = 18;

    /// <summary>The option by which Linux says how a connection does.</summary>
    public const int LinuxTcpInfo = 11;

    /// <summary>Where <c>tcpi_total_retrans</c> stands in the kernel's <c>struct tcp_info</c>, which only ever grows at its end.</summary>
    public const int TotalRetransmitsOffset = 100;

    /// <summary>
    /// Sent bytes that nobody acknowledges for this long end the connection, even where PINGs cannot be written any more.
    /// </summary>
    public const int UserTimeoutMilliseconds = 20_000;

    private const int LinuxIpProtoTcp = 6;

    /// <summary>Sets what an uplink wants of its connection.</summary>
    public static void ApplyToUplink(Socket socket)
    {
        // The writer makes its own batches; waiting for more is its decision.
        socket.NoDelay = true;
        UnsentBytes.LimitOn(socket);
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

    /// <summary>Segments that the kernel sent again on a connection so far; 0 where it does not tell.</summary>
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
            // An option that a kernel lacks costs fairness or speed, not correctness.
        }
    }
}
