namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Serves visitors' connections on the event loops, without Kestrel. Thread-safe.</summary>
internal interface IConnectionFront
{
    /// <summary>Serves a connection on the event loop until it ends.</summary>
    /// <param name="connection">The connection, without TLS.</param>
    /// <param name="stopping">Signalled when the server stops.</param>
    /// <returns>False when the visitor speaks HTTP/2; the connection is then unchanged.</returns>
    Task<bool> ServeAsync(EpollConnectionContext connection, CancellationToken stopping);
}
