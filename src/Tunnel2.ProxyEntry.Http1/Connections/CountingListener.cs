using System.Net;
using Microsoft.AspNetCore.Connections;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Announces each accepted connection to its tracker before Kestrel gets it. Between the two the connection is in a queue of the pool,
/// where a stop would not see it.
/// </summary>
internal sealed class CountingListener(IConnectionListener inner, ConnectionTracker tracker) : IConnectionListener
{
    /// <inheritdoc/>
    public EndPoint EndPoint => inner.EndPoint;

    /// <inheritdoc/>
    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        var connection = await inner.AcceptAsync(cancellationToken).ConfigureAwait(false);
        if (connection is not null)
        {
            tracker.Expect();
        }

        return connection;
    }

    /// <inheritdoc/>
    public ValueTask UnbindAsync(CancellationToken cancellationToken = default) => inner.UnbindAsync(cancellationToken);

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => inner.DisposeAsync();
}
