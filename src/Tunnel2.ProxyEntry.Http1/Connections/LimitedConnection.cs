using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>One of Kestrel's connections over a socket. It gives its place back when the socket is closed.</summary>
internal sealed class LimitedConnection(ConnectionContext inner, ConnectionLimit limit, ConnectionPlace place) : ConnectionContext
{
    private int _left;

    /// <inheritdoc/>
    public override string ConnectionId
    {
        get => inner.ConnectionId;
        set => inner.ConnectionId = value;
    }

    /// <inheritdoc/>
    public override IFeatureCollection Features => inner.Features;

    /// <inheritdoc/>
    public override IDictionary<object, object?> Items
    {
        get => inner.Items;
        set => inner.Items = value;
    }

    /// <inheritdoc/>
    public override IDuplexPipe Transport
    {
        get => inner.Transport;
        set => inner.Transport = value;
    }

    /// <inheritdoc/>
    public override CancellationToken ConnectionClosed
    {
        get => inner.ConnectionClosed;
        set => inner.ConnectionClosed = value;
    }

    /// <inheritdoc/>
    public override EndPoint? LocalEndPoint
    {
        get => inner.LocalEndPoint;
        set => inner.LocalEndPoint = value;
    }

    /// <inheritdoc/>
    public override EndPoint? RemoteEndPoint
    {
        get => inner.RemoteEndPoint;
        set => inner.RemoteEndPoint = value;
    }

    /// <inheritdoc/>
    public override void Abort() => inner.Abort();

    /// <inheritdoc/>
    public override void Abort(ConnectionAbortedException abortReason) => inner.Abort(abortReason);

    /// <inheritdoc/>
    public override async ValueTask DisposeAsync()
    {
        try
        {
            await inner.DisposeAsync().ConfigureAwait(false);
        }
        finally
        {
            if (Interlocked.Exchange(ref _left, 1) == 0)
            {
                limit.Leave(place);
            }
        }

        await base.DisposeAsync().ConfigureAwait(false);
    }
}
