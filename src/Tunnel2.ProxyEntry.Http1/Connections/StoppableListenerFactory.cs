using System.Net;
using Microsoft.AspNetCore.Connections;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// A layer between Kestrel and its transport that can close the visitors' listeners while Kestrel runs: open connections finish, and the
/// admin listener continues to answer health checks. Thread-safe.
/// </summary>
internal sealed class StoppableListenerFactory : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly IConnectionListenerFactory _inner;
    private readonly EndPoint _kept;
    private readonly ListenerConnections _connections;
    private readonly Lock _gate = new();
    private readonly List<IConnectionListener> _listeners = [];

    /// <param name="inner">The transport.</param>
    /// <param name="kept">The end point, as the object given to Kestrel, whose listener stays open.</param>
    /// <param name="connections">Counts the accepted connections.</param>
    public StoppableListenerFactory(IConnectionListenerFactory inner, EndPoint kept, ListenerConnections connections)
    {
        _connections = connections;
        _inner = inner;
        _kept = kept;
    }

    /// <summary>Puts this layer in front of the transport that was registered last.</summary>
    public static void AddTo(IServiceCollection services, EndPoint kept)
    {
        var transport = services.Last(static service => service.ServiceType == typeof(IConnectionListenerFactory));
        services.Remove(transport);
        services.AddSingleton(
            provider =>
                new StoppableListenerFactory(
                    (IConnectionListenerFactory)Create(provider, transport), kept, provider.GetRequiredService<ListenerConnections>()));
        services.AddSingleton<IConnectionListenerFactory>(static provider => provider.GetRequiredService<StoppableListenerFactory>());
    }

    /// <inheritdoc/>
    public bool CanBind(EndPoint endpoint) => _inner is not IConnectionListenerFactorySelector selector || selector.CanBind(endpoint);

    /// <inheritdoc/>
    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        var isKept = ReferenceEquals(endpoint, _kept);
        var listener = new CountingListener(
            await _inner.BindAsync(endpoint, cancellationToken).ConfigureAwait(false), isKept ? _connections.Admin : _connections.Visitors);
        if (!isKept)
        {
            lock (_gate)
            {
                _listeners.Add(listener);
            }
        }

        return listener;
    }

    /// <summary>Closes the listeners: no connection comes in, and another process may use the address.</summary>
    public async Task StopAcceptingAsync()
    {
        IConnectionListener[] listeners;
        lock (_gate)
        {
            listeners = [.. _listeners];
        }

        await Task.WhenAll(listeners.Select(static listener => listener.UnbindAsync().AsTask())).ConfigureAwait(false);
    }

    private static object Create(IServiceProvider provider, ServiceDescriptor transport) =>
        transport.ImplementationInstance
        ?? transport.ImplementationFactory?.Invoke(provider)
        ?? ActivatorUtilities.CreateInstance(provider, transport.ImplementationType!);
}
