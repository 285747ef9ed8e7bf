namespace Tunnel2.ProxyEntry.Connections;

/// <summary>What serves visitors' connections on the event loops, without Kestrel between. Thread-safe.</summary>
internal interface IConnectionFront
{
    /// <summary>Serves a connection on the event loop until it ends.</summary>
    /// <param name="connection">The connection, without TLS.</param>
    /// <param name="stopping">Signalled when the server stops.</param>
    /// <returns>False when the visitor speaks HTTP/2; the connection is then as it was.</returns>
    Task<bool> ServeAsync(EpollConnectionContext connection, CancellationToken stopping);
}
