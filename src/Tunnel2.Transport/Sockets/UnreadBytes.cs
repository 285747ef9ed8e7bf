using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Limits how many bytes of an uplink with a near peer wait in the kernel for their reader. Otherwise the kernel lets them grow to several
/// megabytes, which a short way does not need. When the machine's memory for all of TCP is short (<c>tcp_mem</c>), the kernel drops what
/// arrives for connections that hold more than the average; then each request of the uplink waits 0.2 s for the repetition. Stalled
/// downloads of a service on the same machine make it short: each holds 4 MB in the service's send buffer. Linux only; elsewhere it does
/// nothing.
/// </summary>
internal static class UnreadBytes
{
    /// <summary>The limit: 512 KiB. The kernel doubles it for its bookkeeping, and may have a lower limit (<c>rmem_max</c>).</summary>
    public const int Limit = 512 * 1024;

    /// <summary>
    /// A round trip below which the limit costs no throughput, in microseconds: 1 GB/s is possible then. Within a machine it is about
    /// 30.
    /// </summary>
    private const uint NearMicroseconds = 500;

    private const int SoReceiveBuffer = 8;
    private const int RoundTripOffset = 68; // of tcpi_rtt in struct tcp_info, which only grows at its end

    /// <summary>Sets it on a connected TCP socket, if the peer is near by its address or by the handshake's round trip.</summary>
    public static unsafe void LimitOn(int descriptor, IPAddress? peer)
    {
        if (IsNear(peer, ReadRoundTrip(descriptor)))
        {
            var limit = Limit;
            _ = Libc.SetSocketOption(descriptor, Libc.SolSocket, SoReceiveBuffer, &limit, sizeof(int));
        }
    }

    /// <inheritdoc cref="LimitOn(int, IPAddress?)"/>
    public static void LimitOn(Socket socket)
    {
        if (OperatingSystem.IsLinux() && socket.AddressFamily is AddressFamily.InterNetwork or AddressFamily.InterNetworkV6)
        {
            LimitOn((int)socket.Handle, PeerOf(socket));
        }
    }

    /// <param name="peer">Its address, if it is known.</param>
    /// <param name="roundTripMicroseconds">What the kernel measured; 0 when it measured nothing.</param>
    internal static bool IsNear(IPAddress? peer, uint roundTripMicroseconds) =>
        LoopbackCongestion.IsLoopback(peer) || roundTripMicroseconds is > 0 and < NearMicroseconds;

    private static IPAddress? PeerOf(Socket socket)
    {
        try
        {
            return (socket.RemoteEndPoint as IPEndPoint)?.Address;
        }
        catch (SocketException)
        {
            // The peer has reset the connection: who uses it finds out.
            return null;
        }
    }

    private static unsafe uint ReadRoundTrip(int descriptor)
    {
        var info = stackalloc byte[RoundTripOffset + sizeof(uint)];
        uint length = RoundTripOffset + sizeof(uint);
        var result = Libc.GetSocketOption(descriptor, Libc.IpProtoTcp, SocketTuning.LinuxTcpInfo, info, &length);
        return result == 0 && length == RoundTripOffset + sizeof(uint) ? *(uint*)(info + RoundTripOffset) : 0;
    }
}
