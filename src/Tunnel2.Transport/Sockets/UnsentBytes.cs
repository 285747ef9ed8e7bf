using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// How much the kernel holds of what a connection has not sent yet. It would be megabytes of each peer that reads nothing, outside of
/// every budget, and with a thousand of them so much that the kernel has too little for all of TCP (<c>tcp_mem</c>): it then drops what
/// others send, and they wait 0.2 s and more until it is sent again. What is on its way is not counted, so that long paths lose nothing.
/// Linux only; elsewhere nothing happens.
/// </summary>
internal static class UnsentBytes
{
    /// <summary>The limit: 128 KiB. Of an uplink, more would only mean that frames have left the fair scheduler's hands too
    /// early.</summary>
    public const int Limit = 128 * 1024;

    private const int TcpNotSentLowAt = 25;

    /// <summary>Sets it on a TCP socket, or on a listener for all that it accepts.</summary>
    public static unsafe void LimitOn(int descriptor)
    {
        var limit = Limit;

        // A kernel without it holds more: that costs memory, not correctness.
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
