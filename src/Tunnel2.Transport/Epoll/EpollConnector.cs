using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Native;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Epoll;

/// <summary>Opens connections on a loop.</summary>
internal static class EpollConnector
{
    private static readonly TimeSpan _queuePause = TimeSpan.FromMilliseconds(5);

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
        return errno is 0 or Errno.InProgress
            ? await FinishAsync(loop, descriptor, errno, cancellationToken).ConfigureAwait(false)
            : (null, Errno.ToSocketError(errno));
    }

    /// <summary>Connects to a Unix socket.</summary>
    /// <param name="loop">The loop that the connection will live on.</param>
    /// <param name="path">The socket's path; at most 107 bytes.</param>
    /// <param name="cancellationToken">Cancels the connect.</param>
    /// <returns>
    /// The connection, or the error: <see cref="SocketError.ConnectionRefused"/> also for a path where nothing is.
    /// </returns>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static async ValueTask<(EpollChannel? Channel, SocketError Error)> ConnectAsync(
        EpollLoop loop, string path, CancellationToken cancellationToken)
    {
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var errno = Start(path, out var descriptor);
            switch (errno)
            {
                case 0 or Errno.InProgress:
                    return await FinishAsync(loop, descriptor, errno, cancellationToken).ConfigureAwait(false);
                case Errno.Again:
                    // The service's queue is full. For a Unix socket the kernel reports no event when there is room.
                    await Task.Delay(_queuePause, cancellationToken).ConfigureAwait(false);
                    break;
                default:
                    return (null, errno == Errno.NoEntry ? SocketError.ConnectionRefused : Errno.ToSocketError(errno));
            }
        }
    }

    private static async ValueTask<(EpollChannel? Channel, SocketError Error)> FinishAsync(
        EpollLoop loop, int descriptor, int errno, CancellationToken cancellationToken)
    {
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

    private static unsafe int Start(string path, out int descriptor)
    {
        descriptor = Libc.Socket(Libc.AfUnix, Libc.SockStream | Libc.SockNonBlock | Libc.SockCloseOnExec, 0);
        if (descriptor < 0)
        {
            return Errno.Last;
        }

        var address = stackalloc byte[SocketAddressBytes.MaxPathLength];
        return Connect(descriptor, address, SocketAddressBytes.Write(path, new Span<byte>(address, SocketAddressBytes.MaxPathLength)));
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
        SilentPeers.AskOn(descriptor);
        LoopbackCongestion.ApplyTo(descriptor, endPoint.Address);
        var address = stackalloc byte[SocketAddressBytes.MaxLength];
        return Connect(descriptor, address, SocketAddressBytes.Write(endPoint, new Span<byte>(address, SocketAddressBytes.MaxLength)));
    }

    /// <summary>Begins to connect; a socket that cannot is closed.</summary>
    /// <returns>0, <see cref="Errno.InProgress"/> or the error.</returns>
    private static unsafe int Connect(int descriptor, byte* address, int length)
    {
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
