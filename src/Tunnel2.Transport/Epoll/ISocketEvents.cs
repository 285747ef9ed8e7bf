namespace Tunnel2.Transport.Epoll;

/// <summary>
/// Receives a socket's events, on the loop's thread with no lock held. An earlier event may have closed the socket, so a call may come for
/// a closed socket.
/// </summary>
internal interface ISocketEvents
{
    /// <summary>There may be bytes, the end, or an error to receive.</summary>
    void OnReadable();

    /// <summary>There may be room to send again, or an error to read; or a connect has ended.</summary>
    void OnWritable();

    /// <summary>The peer has ended its sending direction, or the connection is broken. Earlier bytes may still be unread.</summary>
    void OnPeerClosed();

    /// <summary>The loop has closed the socket: the loop ends, or a call of this interface has thrown.</summary>
    void OnClosedByLoop();
}
