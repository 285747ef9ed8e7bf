using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Tunnel2.Transport.Native;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>A socket's errors as exceptions that Kestrel knows: it does not log a visitor who left as a fault.</summary>
internal static class ConnectionFailure
{
    /// <summary>The exception for an error of the system.</summary>
    public static Exception Create(int errno) => Errno.ToSocketError(errno) switch
    {
        SocketError.OperationAborted => new ConnectionAbortedException(),
        SocketError.ConnectionReset or SocketError.Shutdown or SocketError.ConnectionAborted =>
            new ConnectionResetException("The visitor reset the connection.", Errno.ToException(errno)),
        _ => Errno.ToException(errno),
    };
}
