using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Limits how many unsent bytes of a connection the kernel holds. Without the limit it would be megabytes for each peer that reads nothing,
/// outside of every budget. With a thousand such peers the kernel has too little memory for all of TCP (<c>tcp_mem</c>). Then it drops
/// packets of other connections, which wait 0.2 s and more for the repetition. Bytes on their way are not counted, so long paths lose
/// nothing. Linux only; elsewhere it does nothing.
/// </summary>
internal static class UnsentBytes
{
    /// <summary>The limit: 128 KiB. On an uplink, more bytes here would only mean that frames leave the fair scheduler too early.</summary>
    public const int Limit = 128 * 1024;

    private const int TcpNotSentLowAt = 25;

    /// <summary>Sets it on a TCP socket, or on a listener for all connections that it accepts.</summary>
    public static unsafe void LimitOn(int descriptor)
    {
        var limit = Limit;

        // A kernel without it holds more bytes: this costs memory and not correctness.
        _ = Libc.SetSocketOption(descriptor, Libc.IpProtoTcp, TcpNotSentLowAt, &limit, sizeof(int));
    }

    /// <inheritdoc cref="LimitOn(int)"/>
    public static void LimitOn(Socket socket)
    {
        if (OperatingSystem.IsLinux() && socket.AddressFamily is AddressFamily.InterNetwork or AddressFamily.InterNetworkV6)
        {
            LimitOn((int)socket.Handle);
        }
    }
}
