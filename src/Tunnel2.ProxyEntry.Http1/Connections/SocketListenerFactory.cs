using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Options;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Kestrel's listeners over .NET's sockets: all of them with the portable engine, only the admin listener with others.</summary>
internal sealed class SocketListenerFactory : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly SocketTransportOptions _options;
    private readonly EndPoint _admin;
    private readonly ConnectionLimits _limits;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public SocketListenerFactory(
        IOptions<SocketTransportOptions> options, ProxyEntrySettings settings, ConnectionLimits limits, TimeProvider timeProvider,
        ILogger<SocketListenerFactory> logger)
    {
        _options = options.Value;
        _admin = settings.AdminListen;
        _limits = limits;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <inheritdoc/>
    public bool CanBind(EndPoint endpoint) => endpoint is IPEndPoint;

    /// <inheritdoc/>
    public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        try
        {
            var bound = _options.CreateBoundListenSocket(endpoint);
            var limit = ReferenceEquals(endpoint, _admin) ? _limits.Admin : _limits.Visitors;
            return new ValueTask<IConnectionListener>(
                new SocketListener(bound, _options, limit, _limits.AcceptFailed, _timeProvider, _logger));
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AddressAlreadyInUse)
        {
            throw new AddressInUseException(exception.Message, exception);
        }
    }
}
