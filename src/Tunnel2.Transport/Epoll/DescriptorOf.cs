using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <summary>Takes a connection or a bound address over from a <see cref="Socket"/>.</summary>
internal static class DescriptorOf
{
    /// <summary>Disposes of the socket and returns another descriptor of the same connection, non-blocking.</summary>
    /// <exception cref="SocketException">The system has no descriptor left; the socket is disposed of.</exception>
    public static int Take(Socket socket)
    {
        int descriptor;
        using (socket)
        {
            descriptor = Libc.FileControl((int)socket.Handle, Libc.FcntlDuplicateCloseOnExec, 0);
            if (descriptor < 0)
            {
                throw new SocketException((int)Errno.ToSocketError(Errno.Last));
            }
        }

        // After the disposal, because that makes the socket blocking for all its descriptors.
        _ = Libc.FileControl(descriptor, Libc.FcntlSetFlags, Libc.OpenNonBlock);
        return descriptor;
    }

    /// <summary>Returns another descriptor of the same socket.</summary>
    /// <exception cref="SocketException">The system has no descriptor left.</exception>
    public static int Duplicate(int descriptor)
    {
        var other = Libc.FileControl(descriptor, Libc.FcntlDuplicateCloseOnExec, 0);
        return other >= 0 ? other : throw new SocketException((int)Errno.ToSocketError(Errno.Last));
    }

    /// <summary>
    /// Closes a connection without an owner with a reset, so that its peer notices at once and the system keeps nothing of it.
    /// </summary>
    public static unsafe void Reset(int descriptor)
    {
        // struct linger { on, seconds }.
        var linger = stackalloc int[] { 1, 0 };
        _ = Libc.SetSocketOption(descriptor, Libc.SolSocket, Libc.SoLinger, linger, 2 * sizeof(int));
        _ = Libc.Close(descriptor);
    }
}
