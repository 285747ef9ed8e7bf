using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Replaces BBR on connections within this machine, if it is the system's default. Loopback has no rate to probe for, and BBR's pacing sets
/// a timer of the kernel for sends that could leave at once. Connections to other machines keep the system's default, and so do connections
/// with any other default (docs/decisions/0014-no-pacing-on-loopback.md).
/// </summary>
internal static class LoopbackCongestion
{
    private const int TcpCongestion = 13;

    private static readonly bool _isOn = IsWanted();

    /// <summary>Every kernel has it, and lets every process choose it.</summary>
    private static ReadOnlySpan<byte> Reno => "reno"u8;

    /// <summary>Sets it on a connection, or on a listener for all connections that it accepts.</summary>
    /// <param name="descriptor">A TCP socket.</param>
    /// <param name="address">The peer's address, or the listener's own.</param>
    public static unsafe void ApplyTo(int descriptor, IPAddress? address)
    {
        if (_isOn && IsLoopback(address))
        {
            fixed (byte* name = Reno)
            {
                _ = Libc.SetSocketOption(descriptor, Libc.IpProtoTcp, TcpCongestion, name, (uint)Reno.Length);
            }
        }
    }

    /// <summary>Sets it on a connected socket.</summary>
    public static void ApplyTo(Socket socket)
    {
        try
        {
            if (_isOn && socket.RemoteEndPoint is IPEndPoint peer && IsLoopback(peer.Address))
            {
                socket.SetRawSocketOption(Libc.IpProtoTcp, TcpCongestion, Reno);
            }
        }
        catch (SocketException)
        {
            // Without it the connection works with the system's default.
        }
    }

    /// <summary>Whether an address is of this machine's loopback, also when it is written as one of IPv6.</summary>
    public static bool IsLoopback(IPAddress? address) =>
        address is not null && IPAddress.IsLoopback(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address);

    private static bool IsWanted()
    {
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        try
        {
            return File.ReadAllText("/proc/sys/net/ipv4/tcp_congestion_control").StartsWith("bbr", StringComparison.Ordinal);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }
}
