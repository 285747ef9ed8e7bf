using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.LoadTests.Engine;

/// <summary>Non-blocking sockets by system calls: counts are counts, negative ones are errors (<see cref="Errno"/>).</summary>
internal static unsafe class RawSocket
{
    private const int ReceiveBuffer = 8;

    /// <summary>Starts to connect.</summary>
    /// <param name="endPoint">Where to.</param>
    /// <param name="receiveBuffer">What the kernel may hold for a slow reader, in bytes; 0: as usual.</param>
    /// <param name="descriptor">The socket; the caller closes it unless there is an error.</param>
    /// <returns>0: connected; <see cref="Errno.InProgress"/>; or an error.</returns>
    public static int Connect(IPEndPoint endPoint, int receiveBuffer, out int descriptor)
    {
        var family = endPoint.AddressFamily == AddressFamily.InterNetwork ? Libc.AfInet : Libc.AfInet6;
        descriptor = Libc.Socket(family, Libc.SockStream | Libc.SockNonBlock | Libc.SockCloseOnExec, Libc.IpProtoTcp);
        if (descriptor < 0)
        {
            return Errno.Last;
        }

        var on = 1;
        _ = Libc.SetSocketOption(descriptor, Libc.IpProtoTcp, Libc.TcpNoDelay, &on, sizeof(int));
        if (receiveBuffer > 0)
        {
            _ = Libc.SetSocketOption(descriptor, Libc.SolSocket, ReceiveBuffer, &receiveBuffer, sizeof(int));
        }

        var address = stackalloc byte[SocketAddressBytes.MaxLength];
        var length = SocketAddressBytes.Write(endPoint, new Span<byte>(address, SocketAddressBytes.MaxLength));
        if (Libc.Connect(descriptor, address, (uint)length) == 0)
        {
            return 0;
        }

        var errno = Errno.Last;
        if (errno is Errno.InProgress or Errno.Interrupted)
        {
            return Errno.InProgress;
        }

        _ = Libc.Close(descriptor);
        descriptor = -1;
        return errno;
    }

    /// <summary>The error that a connect ended with, or 0.</summary>
    public static int ConnectError(int descriptor)
    {
        int value;
        uint length = sizeof(int);
        return Libc.GetSocketOption(descriptor, Libc.SolSocket, Libc.SoError, &value, &length) == 0 ? value : Errno.Last;
    }

    /// <summary>Receives what is there.</summary>
    public static int Receive(int descriptor, Span<byte> buffer)
    {
        fixed (byte* bytes = buffer)
        {
            return Result(Libc.Receive(descriptor, bytes, (nuint)buffer.Length, 0));
        }
    }

    /// <summary>Sends what there is room for.</summary>
    public static int Send(int descriptor, ReadOnlySpan<byte> buffer)
    {
        fixed (byte* bytes = buffer)
        {
            return Result(Libc.Send(descriptor, bytes, (nuint)buffer.Length, Libc.MsgNoSignal));
        }
    }

    /// <summary>Closes it.</summary>
    public static void Close(int descriptor) => _ = Libc.Close(descriptor);

    private static int Result(nint count) => count >= 0 ? (int)count : -Errno.Last;
}
