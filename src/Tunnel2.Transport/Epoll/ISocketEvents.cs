namespace Tunnel2.Transport.Epoll;

/// <summary>
/// Told what happened on a socket. Called on the loop's thread with no lock held; what it runs may close the socket, so a call may come for
/// a socket that is closed already.
/// </summary>
internal interface ISocketEvents
{
    /// <summary>There may be something to receive: bytes, the end, or an error.</summary>
    void OnReadable();

    /// <summary>There may be room to send again, or an error to learn of; a connect has ended.</summary>
    void OnWritable();

    /// <summary>The peer has ended its sending direction, or the connection is broken. What it sent before may still be unread.</summary>
    void OnPeerClosed();

    /// <summary>The loop has closed the socket: it ends, or a call of this interface has thrown.</summary>
    void OnClosedByLoop();
}
