using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace Tunnel2.Transport.Native;

/// <summary>Error numbers of Linux (the same on x64 and arm64), and their equivalents in .NET.</summary>
internal static class Errno
{
    public const int NotPermitted = 1;
    public const int NoEntry = 2;
    public const int Interrupted = 4;
    public const int Again = 11;
    public const int NoMemory = 12;
    public const int InvalidArgument = 22;
    public const int TooManyFilesInSystem = 23;
    public const int TooManyFiles = 24;
    public const int BrokenPipe = 32;
    public const int ProtocolFault = 71;
    public const int AddressNotAvailable = 99;
    public const int FirstOfNetwork = 100;
    public const int NetworkUnreachable = 101;
    public const int LastOfNetwork = 102;
    public const int ConnectionAborted = 103;
    public const int ConnectionReset = 104;
    public const int NoBuffers = 105;
    public const int TimedOut = 110;
    public const int HostDown = 112;
    public const int HostUnreachable = 113;
    public const int InProgress = 115;
    public const int Canceled = 125;

    /// <summary>The error of the last call.</summary>
    public static int Last => Marshal.GetLastSystemError();

    /// <summary>The name of an error for users of a socket.</summary>
    public static SocketError ToSocketError(int errno) => errno switch
    {
        0 => SocketError.Success,
        13 or NotPermitted => SocketError.AccessDenied,
        InvalidArgument => SocketError.InvalidArgument,
        NoMemory or NoBuffers => SocketError.NoBufferSpaceAvailable,
        TooManyFiles or TooManyFilesInSystem => SocketError.TooManyOpenSockets,
        BrokenPipe => SocketError.Shutdown,
        97 => SocketError.AddressFamilyNotSupported,
        98 => SocketError.AddressAlreadyInUse,
        AddressNotAvailable => SocketError.AddressNotAvailable,
        100 => SocketError.NetworkDown,
        NetworkUnreachable => SocketError.NetworkUnreachable,
        ConnectionAborted => SocketError.ConnectionAborted,
        ConnectionReset => SocketError.ConnectionReset,
        107 => SocketError.NotConnected,
        TimedOut => SocketError.TimedOut,
        111 => SocketError.ConnectionRefused,
        HostDown => SocketError.HostDown,
        HostUnreachable => SocketError.HostUnreachable,
        Canceled => SocketError.OperationAborted,
        _ => SocketError.SocketError,
    };

    /// <summary>Whether an accept failed because of the one connection that it would have returned: the next one may be good.</summary>
    public static bool IsOneConnections(int errno) =>
        errno is Interrupted or NotPermitted or ProtocolFault or ConnectionAborted or ConnectionReset or TimedOut
        or (>= FirstOfNetwork and <= LastOfNetwork) or HostDown or HostUnreachable;

    /// <summary>A failure in the form that users of <see cref="Sockets.SocketTransport"/> know.</summary>
    public static IOException ToException(int errno) => errno == Canceled
        ? new IOException("The connection was aborted.", new SocketException((int)SocketError.OperationAborted))
        : new IOException($"The connection failed: {ToSocketError(errno)}.", new SocketException((int)ToSocketError(errno)));
}
