using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>What the sessions with one of several servers report. Its state is guarded by the lock of the group.</summary>
internal sealed class ServerReports : IAgentEvents, IClusterPlace, IOtherSessions, IDisposable
{
    private readonly ServerGroup _group;
    private readonly CancellationTokenSource _leaving = new();
    private readonly TaskCompletionSource _replaced = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile Func<UplinkReading>? _readUplinks;
    private volatile bool _isConnected;

    /// <param name="group">All of them.</param>
    /// <param name="server">The server.</param>
    /// <param name="announced">The node, if another server has announced it.</param>
    public ServerReports(ServerGroup group, ServerEndpoint server, KnownNode? announced = null)
    {
        _group = group;
        Server = server;
        Announced = announced;
        Node = announced?.Node.Node ?? "";
        Zone = announced?.Node.Zone ?? "";

        // What is finished after the session has left still asks.
        Leaving = _leaving.Token;
    }

    /// <summary>The server.</summary>
    public ServerEndpoint Server { get; }

    /// <summary>The node, if another server has announced it; null: the user gave the server.</summary>
    public KnownNode? Announced { get; }

    /// <summary>The options for it; null before it runs.</summary>
    public AgentOptions? Options { get; set; }

    /// <summary>The id of the node that it was at last; empty: not known.</summary>
    public string Node { get; set; }

    /// <summary>Its zone; empty: not known.</summary>
    public string Zone { get; set; }

    /// <summary>As which the last session was welcomed: its name, and its public URLs; null before it.</summary>
    public WelcomeMessage? Welcome { get; set; }

    /// <summary>The session whose place this one takes when it has come about; null: it takes none.</summary>
    public ServerReports? Replaces { get; init; }

    /// <summary>Whether another session has taken its place.</summary>
    public bool IsReplaced => _replaced.Task.IsCompleted;

    /// <summary>When another session of this agent took the place of its own at the same node; null: none has.</summary>
    public long? TakenOver { get; set; }

    /// <summary>Whether it has been tried, and there is no session.</summary>
    public bool IsAway { get; set; }

    /// <summary>Its session is no longer wanted. Ends in order.</summary>
    public CancellationToken Leaving { get; }

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
    public bool TakesNodes => _group.TakesNodes;

    /// <inheritdoc/>
    public bool IsOneOfSeveral => _group.IsOneOfSeveral;

    /// <inheritdoc/>
    public Rejection? Welcomed(WelcomeMessage welcome) => _group.Welcomed(this, welcome);

    /// <inheritdoc/>
    public void Heard(NodeAnnouncement announcement) => _group.Heard(this, announcement);

    /// <inheritdoc/>
    public Task WhenReplaced => _replaced.Task;

    /// <inheritdoc/>
    public bool Exist => _group.IsServed;

    /// <inheritdoc/>
    public Task<bool> WhenNoneAsync(Task unless) => _group.IsAsync(isServed: false, unless);

    /// <inheritdoc/>
    public Task<bool> IsElsewhereAsync(Task unless) => _group.IsAsync(isServed: true, unless);

    /// <summary>Another session has taken its place. It gets no more new requests when the ones that it has are over.</summary>
    public void Replace()
    {
        IsConnected = false;
        _replaced.TrySetResult();
    }

    /// <summary>Its session is no longer wanted.</summary>
    public void Leave() => _ = _leaving.CancelAsync();

    /// <inheritdoc/>
    public void Dispose() => _leaving.Dispose();

    /// <inheritdoc/>
    public bool WantsRequests => _group.Events.WantsRequests;

    /// <inheritdoc/>
    public void Connecting(ServerEndpoint server) => _group.Connecting(server);

    /// <inheritdoc/>
    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream) => _group.Ready(this, publicUrls, upstream, null);

    /// <inheritdoc/>
    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream, IReadOnlyList<ServiceRoute> routes) =>
        _group.Ready(this, publicUrls, upstream, routes);

    /// <inheritdoc/>
    public void Uplinks(Func<UplinkReading> read) => _readUplinks = read;

    /// <inheritdoc/>
    public void Routed(UplinkRoute route) => _group.Routed(this, route);

    /// <inheritdoc/>
    public void ConnectionEnded(ConnectionEnd end) => _group.Ended(this, end);

    /// <inheritdoc/>
    public void Reconnecting(TimeSpan delay) => _group.Reconnecting(delay);

    /// <inheritdoc/>
    public void Draining() => _group.Draining(this);

    /// <inheritdoc/>
    public void Stopped() => _group.OneStopped();

    /// <inheritdoc/>
    public void RequestFailed(string leg, string error) => _group.Events.RequestFailed(leg, error);

    /// <inheritdoc/>
    public void RequestCompleted(RequestSummary request) => _group.Events.RequestCompleted(request);
}
