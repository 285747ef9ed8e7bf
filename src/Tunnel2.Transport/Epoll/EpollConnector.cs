using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Native;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Epoll;

/// <summary>Opens connections on a loop.</summary>
internal static class EpollConnector
{
    /// <summary>Connects, without Nagle's delay.</summary>
    /// <param name="loop">The loop that the connection will live on.</param>
    /// <param name="endPoint">The address.</param>
    /// <param name="cancellationToken">Cancels the connect.</param>
    /// <returns>The connection, or the error.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static async ValueTask<(EpollChannel? Channel, SocketError Error)> ConnectAsync(
        EpollLoop loop, IPEndPoint endPoint, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        var errno = Start(endPoint, out var descriptor);
        if (errno is not (0 or Errno.InProgress))
        {
            return (null, Errno.ToSocketError(errno));
        }

        var channel = new EpollChannel(loop, descriptor, connected: errno == 0);
        errno = channel.Register();
        if (errno == 0)
        {
            var connected = channel.ConnectedAsync();
            if (connected.IsCompleted)
            {
                errno = connected.Result;
            }
            else
            {
                using (cancellationToken.UnsafeRegister(static state => ((EpollChannel)state!).Abort(), channel))
                {
                    errno = await connected.ConfigureAwait(false);
                }
            }
        }

        if (errno == 0)
        {
            return (channel, SocketError.Success);
        }

        channel.Abort();
        cancellationToken.ThrowIfCancellationRequested();
        return (null, Errno.ToSocketError(errno));
    }

    private static unsafe int Start(IPEndPoint endPoint, out int descriptor)
    {
        var family = endPoint.AddressFamily == AddressFamily.InterNetwork ? Libc.AfInet : Libc.AfInet6;
        descriptor = Libc.Socket(family, Libc.SockStream | Libc.SockNonBlock | Libc.SockCloseOnExec, Libc.IpProtoTcp);
        if (descriptor < 0)
        {
            return Errno.Last;
        }

        var on = 1;
        _ = Libc.SetSocketOption(descriptor, Libc.IpProtoTcp, Libc.TcpNoDelay, &on, sizeof(int));
        UnsentBytes.LimitOn(descriptor);
        LoopbackCongestion.ApplyTo(descriptor, endPoint.Address);
        var address = stackalloc byte[SocketAddressBytes.MaxLength];
        var length = SocketAddressBytes.Write(endPoint, new Span<byte>(address, SocketAddressBytes.MaxLength));
        if (Libc.Connect(descriptor, address, (uint)length) == 0)
        {
            return 0;
        }

        var errno = Errno.Last;
        if (errno is Errno.InProgress or Errno.Interrupted)
        {
            // After an interruption the connect continues by itself.
            return Errno.InProgress;
        }

        _ = Libc.Close(descriptor);
        return errno;
    }
}
