using System.Net;
using Tunnel2.Transport.Native;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Epoll;

/// <content>Options and addresses.</content>
internal sealed unsafe partial class EpollSocket
{
    /// <summary>The error that ended a connect, or 0. It ends what is received too.</summary>
    public int TakeError()
    {
        lock (Gate)
        {
            int error = 0;
            uint length = sizeof(int);
            if (_descriptor < 0)
            {
                return Errno.Canceled;
            }

            error = Libc.GetSocketOption(_descriptor, Libc.SolSocket, Libc.SoError, &error, &length) == 0 ? error : Errno.Last;
            RememberUnsynchronized(error);
            return error;
        }
    }

    /// <summary>Sets an option of TCP. If a kernel lacks it, this costs speed and not correctness.</summary>
    public void SetTcpOption(int option, int value)
    {
        lock (Gate)
        {
            if (_descriptor >= 0)
            {
                _ = Libc.SetSocketOption(_descriptor, Libc.IpProtoTcp, option, &value, sizeof(int));
            }
        }
    }

    /// <inheritdoc cref="UnreadBytes.LimitOn(int, IPAddress?)"/>
    public void LimitUnreadBytes(IPAddress? peer)
    {
        lock (Gate)
        {
            if (_descriptor >= 0)
            {
                UnreadBytes.LimitOn(_descriptor, peer);
            }
        }
    }

    /// <summary>Reads an option of the socket or of TCP, or the number at an offset in a structure; −1 on failure.</summary>
    public int GetOption(int level, int option, int offset = 0)
    {
        lock (Gate)
        {
            var value = stackalloc byte[offset + sizeof(int)];
            var length = (uint)(offset + sizeof(int));
            return _descriptor >= 0 && Libc.GetSocketOption(_descriptor, level, option, value, &length) == 0
                ? *(int*)(value + offset)
                : -1;
        }
    }

    /// <summary>This end's address, or null.</summary>
    public IPEndPoint? GetLocalEndPoint()
    {
        lock (Gate)
        {
            if (_descriptor < 0)
            {
                return null;
            }

            var address = stackalloc byte[SocketAddressBytes.MaxLength];
            uint length = SocketAddressBytes.MaxLength;
            var result = Libc.GetSocketName(_descriptor, address, &length);
            return result == 0 ? SocketAddressBytes.Read(new ReadOnlySpan<byte>(address, (int)length)) : null;
        }
    }
}
