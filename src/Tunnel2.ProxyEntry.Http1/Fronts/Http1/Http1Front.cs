using Microsoft.AspNetCore.Connections;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// Our own front for HTTP/1.0 and HTTP/1.1, on Kestrel's connections and after its TLS: a middleware of the public listeners. HTTP/2, known
/// by ALPN or by its preface, goes to Kestrel. Thread-safe.
/// </summary>
internal sealed class Http1Front : IConnectionFront
{
    public Http1Front(
        IForwarder forwarder,
        ConnectionSweep sweep,
        ProxyEntrySettings settings,
        DrainSignal drain,
        ILogger<Http1Front> logger,
        WebSocketUplinks? uplinks = null)
    {
        Uplinks = uplinks;
        Forwarder = forwarder;
        Sweep = sweep;
        Settings = settings;
        Drain = drain;
        Logger = logger;
        Limits = new Http1Limits
        {
            MaxHeadBytes = settings.MaxRequestHeadBytes,
            MaxFields = ProtocolLimits.MaxHeaderFields,
            MaxRequestLineBytes = settings.MaxRequestLineBytes,
        };
    }

    public IForwarder Forwarder { get; }

    public ConnectionSweep Sweep { get; }

    public ProxyEntrySettings Settings { get; }

    /// <summary>Whether every response should be the last of its connection.</summary>
    public DrainSignal Drain { get; }

    public ILogger Logger { get; }

    /// <summary>Agents that come over WebSocket; null: none can.</summary>
    public WebSocketUplinks? Uplinks { get; }

    /// <summary>The limits of requests.</summary>
    public Http1Limits Limits { get; }

    /// <summary>The pool for buffers.</summary>
    public BufferPool Buffers { get; } = BufferPool.Shared;

    /// <inheritdoc/>
    public Task<bool> ServeAsync(EpollConnectionContext connection, CancellationToken stopping) =>
        new Http1Connection(this, VisitorTransport.Of(connection, stopping)).RunAsync();

    /// <summary>Serves a connection until it ends, or passes it on.</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="next">Serves HTTP/2.</param>
    public async Task ServeAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        if (!VisitorTransport.SpeaksHttp2(connection) && await ServeHttp1Async(connection).ConfigureAwait(false))
        {
            return;
        }

        await next(connection).ConfigureAwait(false);
    }

    /// <summary>While our front serves the connection, the sweep watches its waits.</summary>
    private async Task<bool> ServeHttp1Async(ConnectionContext connection)
    {
        var activity = connection.Features.Get<ConnectionActivity>();
        activity?.RequestBegan();
        try
        {
            return await new Http1Connection(this, VisitorTransport.Of(connection, Buffers)).RunAsync().ConfigureAwait(false);
        }
        finally
        {
            activity?.RequestEnded();
        }
    }
}
