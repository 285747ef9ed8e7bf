using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Embed.Connections;

/// <summary>
/// The app of this process, between the agent that opens connections to it and the Kestrel that serves them. Thread-safe.
/// </summary>
internal sealed class EmbeddedApp : IServiceInProcess, IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private volatile TunnelListener? _listener;

    /// <summary>Whether Kestrel has begun to listen. Another server, such as one for tests, never does.</summary>
    public bool IsBound => _listener is not null;

    /// <inheritdoc/>
    public bool CanBind(EndPoint endpoint) => endpoint is TunnelEndPoint;

    /// <inheritdoc/>
    public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        var listener = new TunnelListener(endpoint);
        _listener = listener;
        return new ValueTask<IConnectionListener>(listener);
    }

    /// <inheritdoc/>
    public IByteTransport? TryConnect(PipeScheduler? home) => _listener?.TryConnect(home)?.Agent;
}
