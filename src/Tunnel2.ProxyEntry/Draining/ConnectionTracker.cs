using System.Collections.Concurrent;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace Tunnel2.ProxyEntry.Draining;

/// <summary>
/// The open connections of some of Kestrel's listeners, as a connection middleware: Kestrel itself can only close those of all listeners at
/// once, and health has to be answered until the end. Thread-safe.
/// </summary>
internal sealed class ConnectionTracker
{
    private readonly ConcurrentDictionary<ConnectionContext, byte> _open = new();
    private readonly TaskCompletionSource _none = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile bool _closing;

    /// <summary>Connections open now.</summary>
    public int Count => _open.Count;

    /// <summary>The middleware: counts a connection for as long as it is served.</summary>
    public ConnectionDelegate Track(ConnectionDelegate next) => async connection =>
    {
        _open.TryAdd(connection, 0);
        if (_closing)
        {
            // It was accepted while the listener closed: it gets its one answer.
            RequestClose(connection);
        }

        try
        {
            await next(connection).ConfigureAwait(false);
        }
        finally
        {
            _open.TryRemove(connection, out _);
            CompleteIfNone();
        }
    };

    /// <summary>Asks every connection to end: idle ones at once, the others behind the response that is under way.</summary>
    /// <returns>Completes when all have ended.</returns>
    public Task CloseAsync()
    {
        _closing = true;
        foreach (var (connection, _) in _open)
        {
            RequestClose(connection);
        }

        CompleteIfNone();
        return _none.Task;
    }

    /// <summary>Cuts every connection.</summary>
    public void Abort()
    {
        foreach (var (connection, _) in _open)
        {
            connection.Abort(new ConnectionAbortedException("ProxyEntry stopped."));
        }
    }

    private static void RequestClose(ConnectionContext connection) =>
        connection.Features.Get<IConnectionLifetimeNotificationFeature>()?.RequestClose();

    private void CompleteIfNone()
    {
        if (_closing && _open.IsEmpty)
        {
            _none.TrySetResult();
        }
    }
}
