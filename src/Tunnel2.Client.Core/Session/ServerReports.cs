using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Session;

/// <summary>What the sessions with one of several servers report. Its state is guarded by the lock of the group.</summary>
internal sealed class ServerReports(ServerGroup group, ServerEndpoint server) : IAgentEvents
{
    private volatile Func<UplinkReading>? _readUplinks;
    private volatile bool _isConnected;

    /// <summary>The server.</summary>
    public ServerEndpoint Server { get; } = server;

    /// <summary>Whether there is a session with it that takes requests. May be read without the lock.</summary>
    public bool IsConnected
    {
        get => _isConnected;
        set => _isConnected = value;
    }

    /// <summary>Whether the last attempt did not reach it.</summary>
    public bool IsUnreachable { get; set; }

    /// <summary>Whether it has refused the agent for good.</summary>
    public bool IsOver { get; set; }

    /// <summary>Whether it was reached over WebSocket or by a proxy before.</summary>
    public bool WasDetour { get; set; }

    /// <summary>Why there is no session, or null.</summary>
    public string? Message { get; set; }

    /// <summary>The public URLs of its last session.</summary>
    public IReadOnlyList<string> Urls { get; set; } = [];

    /// <summary>How the uplinks of its session can be looked at; null before the first one.</summary>
    public Func<UplinkReading>? ReadUplinks => _readUplinks;

    /// <inheritdoc/>
    public bool WantsRequests => group.Events.WantsRequests;

    /// <inheritdoc/>
    public void Connecting(ServerEndpoint server) => group.Connecting(server);

    /// <inheritdoc/>
    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream) => group.Ready(this, publicUrls, upstream, null);

    /// <inheritdoc/>
    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream, IReadOnlyList<ServiceRoute> routes) =>
        group.Ready(this, publicUrls, upstream, routes);

    /// <inheritdoc/>
    public void Uplinks(Func<UplinkReading> read) => _readUplinks = read;

    /// <inheritdoc/>
    public void Routed(UplinkRoute route) => group.Routed(this, route);

    /// <inheritdoc/>
    public void ConnectionEnded(ConnectionEnd end) => group.Ended(this, end);

    /// <inheritdoc/>
    public void Reconnecting(TimeSpan delay) => group.Reconnecting(delay);

    /// <inheritdoc/>
    public void Draining() => group.Draining(this);

    /// <inheritdoc/>
    public void Stopped()
    {
        // The group says it when the last one has.
    }

    /// <inheritdoc/>
    public void RequestFailed(string leg, string error) => group.Events.RequestFailed(leg, error);

    /// <inheritdoc/>
    public void RequestCompleted(RequestSummary request) => group.Events.RequestCompleted(request);
}
