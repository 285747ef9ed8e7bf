using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace Tunnel2.Transport.Epoll.Native;

/// <summary>Error numbers of Linux (the same on x64 and arm64), and what they are called elsewhere in .NET.</summary>
internal static class Errno
{
    public const int Interrupted = 4;
    public const int Again = 11;
    public const int NoMemory = 12;
    public const int TooManyFilesInSystem = 23;
    public const int TooManyFiles = 24;
    public const int BrokenPipe = 32;
    public const int ConnectionReset = 104;
    public const int NoBuffers = 105;
    public const int InProgress = 115;
    public const int Canceled = 125;

    /// <summary>The error of the call before.</summary>
    public static int Last => Marshal.GetLastSystemError();

    /// <summary>The name of an error that a socket's user knows.</summary>
    public static SocketError ToSocketError(int errno) => errno switch
    {
        0 => SocketError.Success,
        13 or 1 => SocketError.AccessDenied,
        22 => SocketError.InvalidArgument,
        NoMemory or NoBuffers => SocketError.NoBufferSpaceAvailable,
        TooManyFiles or TooManyFilesInSystem => SocketError.TooManyOpenSockets,
        BrokenPipe => SocketError.Shutdown,
        97 => SocketError.AddressFamilyNotSupported,
        98 => SocketError.AddressAlreadyInUse,
        99 => SocketError.AddressNotAvailable,
        100 => SocketError.NetworkDown,
        101 => SocketError.NetworkUnreachable,
        103 => SocketError.ConnectionAborted,
        ConnectionReset => SocketError.ConnectionReset,
        107 => SocketError.NotConnected,
        110 => SocketError.TimedOut,
        111 => SocketError.ConnectionRefused,
        112 => SocketError.HostDown,
        113 => SocketError.HostUnreachable,
        Canceled => SocketError.OperationAborted,
        _ => SocketError.SocketError,
    };

    /// <summary>Where the system is out of something that comes back by itself.</summary>
    public static bool IsShortage(int errno) => errno is TooManyFiles or TooManyFilesInSystem or NoBuffers or NoMemory;

    /// <summary>A failure as the users of <see cref="Sockets.SocketUplinkTransport"/> know it.</summary>
    public static IOException ToException(int errno) => errno == Canceled
        ? new IOException("The connection was aborted.", new SocketException((int)SocketError.OperationAborted))
        : new IOException($"The connection failed: {ToSocketError(errno)}.", new SocketException((int)ToSocketError(errno)));
}
