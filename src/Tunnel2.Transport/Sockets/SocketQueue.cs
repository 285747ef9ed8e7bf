using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>The bytes of a socket that the kernel holds.</summary>
internal static unsafe class SocketQueue
{
    /// <summary>
    /// The number of sent bytes that the peer's system has not acknowledged; 0 if the system does not report it, or the socket is closed.
    /// </summary>
    public static int Undelivered(Socket socket)
    {
        if (!OperatingSystem.IsLinux())
        {
            return 0;
        }

        var added = false;
        try
        {
            socket.SafeHandle.DangerousAddRef(ref added);
            int count = 0;
            return Libc.Control((int)socket.SafeHandle.DangerousGetHandle(), Libc.OutputQueue, &count) == 0 ? count : 0;
        }
        catch (ObjectDisposedException)
        {
            return 0;
        }
        finally
        {
            if (added)
            {
                socket.SafeHandle.DangerousRelease();
            }
        }
    }
}
