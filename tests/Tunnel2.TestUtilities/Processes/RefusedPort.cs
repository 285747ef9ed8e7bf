using System.Net;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities;

/// <summary>
/// A TCP port of 127.0.0.1 where no process listens, and none can begin to until this is disposed of: a port that is merely free may be
/// another process's the moment after. Thread-safe.
/// </summary>
public sealed class RefusedPort : IDisposable
{
    // Of no named protocol, which is TCP, too: for a named one .NET lets others bind the port of a socket that does not listen.
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Unspecified);

    /// <summary>Takes a port.</summary>
    public RefusedPort()
    {
        _socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        EndPoint = (IPEndPoint)_socket.LocalEndPoint!;
    }

    /// <summary>Where connections are refused.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>Its port.</summary>
    public int Port => EndPoint.Port;

    /// <summary>From now on a process listens there.</summary>
    /// <returns>The listening socket, which this object continues owning.</returns>
    public Socket Listen()
    {
        _socket.Listen();
        return _socket;
    }

    /// <inheritdoc/>
    public void Dispose() => _socket.Dispose();
}
