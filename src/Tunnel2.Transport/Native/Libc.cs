using System.Runtime.InteropServices;

namespace Tunnel2.Transport.Native;

/// <summary>
/// The system calls of the epoll transport. All signatures are blittable, so a call is a jump. Read errno directly after a failed call
/// (<see cref="Errno.Last"/>); the runtime preserves it during its own work. No call suppresses the runtime's transition: a send on
/// loopback runs the receiver's whole TCP stack, and a collection of another thread would have to wait for it.
/// </summary>
internal static unsafe partial class Libc
{
    public const int AfUnix = 1;
    public const int AfInet = 2;
    public const int AfInet6 = 10;
    public const int SockStream = 1;
    public const int SockNonBlock = 0x800;
    public const int SockCloseOnExec = 0x80000;
    public const int IpProtoTcp = 6;
    public const int TcpNoDelay = 1;
    public const int SolSocket = 1;
    public const int ScmRights = 1;
    public const int SolIp = 0;
    public const int IpPacketInfo = 8;
    public const int SolIp6 = 41;
    public const int Ip6PacketInfo = 50;
    public const int SoError = 4;
    public const int SoLinger = 13;
    public const int MsgPeek = 0x2;
    public const int MsgControlTruncated = 0x8;
    public const int MsgDontWait = 0x40;
    public const int MsgNoSignal = 0x4000;
    public const int ShutdownWrite = 1;
    public const int EpollCloseOnExec = 0x80000;
    public const int EpollCtlAdd = 1;
    public const int EpollCtlDelete = 2;
    public const int FcntlSetFlags = 4;
    public const int LimitOfOpenFiles = 7; // RLIMIT_NOFILE
    public const int FcntlDuplicateCloseOnExec = 1030;
    public const int OpenNonBlock = 0x800;
    public const short PollOut = 4;
    public const nuint OutputQueue = 0x5411; // SIOCOUTQ

    [LibraryImport("libc", EntryPoint = "epoll_create1")]
    public static partial int EpollCreate(int flags);

    [LibraryImport("libc", EntryPoint = "epoll_ctl")]
    public static partial int EpollControl(int epoll, int operation, int descriptor, byte* epollEvent);

    [LibraryImport("libc", EntryPoint = "epoll_wait")]
    public static partial int EpollWait(int epoll, byte* events, int maxEvents, int timeoutMilliseconds);

    [LibraryImport("libc", EntryPoint = "eventfd")]
    public static partial int EventDescriptor(uint initial, int flags);

    [LibraryImport("libc", EntryPoint = "write")]
    public static partial nint Write(int descriptor, byte* bytes, nuint length);

    [LibraryImport("libc", EntryPoint = "poll")]
    public static partial int Poll(PollEntry* entries, nuint count, int timeoutMilliseconds);

    [LibraryImport("libc", EntryPoint = "sched_yield")]
    public static partial int YieldProcessor();

    [LibraryImport("libc", EntryPoint = "ioctl")]
    public static partial int Control(int descriptor, nuint request, int* value);

    /// <summary>Reads a limit of the process: the one in force, and the one up to which it may be raised.</summary>
    [LibraryImport("libc", EntryPoint = "getrlimit")]
    public static partial int GetLimit(int resource, nuint* limits);

    [LibraryImport("libc", EntryPoint = "close")]
    public static partial int Close(int descriptor);

    [LibraryImport("libc", EntryPoint = "socket")]
    public static partial int Socket(int family, int type, int protocol);

    [LibraryImport("libc", EntryPoint = "connect")]
    public static partial int Connect(int descriptor, byte* address, uint length);

    [LibraryImport("libc", EntryPoint = "listen")]
    public static partial int Listen(int descriptor, int backlog);

    [LibraryImport("libc", EntryPoint = "accept4")]
    public static partial int Accept(int descriptor, byte* address, uint* length, int flags);

    [LibraryImport("libc", EntryPoint = "recv")]
    public static partial nint Receive(int descriptor, byte* bytes, nuint length, int flags);

    [LibraryImport("libc", EntryPoint = "send")]
    public static partial nint Send(int descriptor, byte* bytes, nuint length, int flags);

    [LibraryImport("libc", EntryPoint = "recvmsg")]
    public static partial nint ReceiveMessage(int descriptor, void* message, int flags);

    [LibraryImport("libc", EntryPoint = "sendmsg")]
    public static partial nint SendMessage(int descriptor, void* message, int flags);

    [LibraryImport("libc", EntryPoint = "shutdown")]
    public static partial int Shutdown(int descriptor, int how);

    [LibraryImport("libc", EntryPoint = "setsockopt")]
    public static partial int SetSocketOption(int descriptor, int level, int option, void* value, uint length);

    [LibraryImport("libc", EntryPoint = "getsockopt")]
    public static partial int GetSocketOption(int descriptor, int level, int option, void* value, uint* length);

    [LibraryImport("libc", EntryPoint = "getsockname")]
    public static partial int GetSocketName(int descriptor, byte* address, uint* length);

    [LibraryImport("libc", EntryPoint = "fcntl")]
    public static partial int FileControl(int descriptor, int command, int argument);

    /// <summary>struct pollfd.</summary>
    internal struct PollEntry
    {
        public int Descriptor;
        public short Wanted;
        public short Found;
    }
}
