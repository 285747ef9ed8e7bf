using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>What the sessions with one of several servers report. Its state is guarded by the lock of the group.</summary>
internal sealed class ServerReports(ServerGroup group, ServerEndpoint server, KnownNode? announced = null)
    : IAgentEvents, IClusterPlace, IDisposable
{
    private volatile Func<UplinkReading>? _readUplinks;
    private volatile bool _isConnected;
    private readonly CancellationTokenSource _leaving = new();

    /// <summary>The server.</summary>
    public ServerEndpoint Server { get; } = server;

    /// <summary>The node, if another server has announced it; null: the user gave the server.</summary>
    public KnownNode? Announced { get; } = announced;

    /// <summary>The options for it; null before it runs.</summary>
    public AgentOptions? Options { get; set; }

    /// <summary>The id of the node that it was at last; empty: not known.</summary>
    public string Node { get; set; } = announced?.Node.Node ?? "";

    /// <summary>Its zone; empty: not known.</summary>
    public string Zone { get; set; } = announced?.Node.Zone ?? "";

    /// <summary>Whether it has been tried, and there is no session.</summary>
    public bool IsAway { get; set; }

    /// <summary>Its session is no longer wanted. Ends in order.</summary>
    public CancellationToken Leaving => _leaving.Token;

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
    public bool TakesNodes => group.TakesNodes;

    /// <inheritdoc/>
    public bool IsOneOfSeveral => group.IsOneOfSeveral;

    /// <inheritdoc/>
    public string? Welcomed(WelcomeMessage welcome) => group.Welcomed(this, welcome);

    /// <summary>Its session is no longer wanted.</summary>
    public void Leave() => _ = _leaving.CancelAsync();

    /// <inheritdoc/>
    public void Dispose() => _leaving.Dispose();

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
    public void Stopped() => group.OneStopped();

    /// <inheritdoc/>
    public void RequestFailed(string leg, string error) => group.Events.RequestFailed(leg, error);

    /// <inheritdoc/>
    public void RequestCompleted(RequestSummary request) => group.Events.RequestCompleted(request);
}
