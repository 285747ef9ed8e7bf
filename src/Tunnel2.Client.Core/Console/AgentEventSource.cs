using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Console;

/// <summary>Turns reports into events, each with the time at which it happened. Thread-safe as far as <see cref="Post"/> is.</summary>
internal abstract class AgentEventSource : IAgentEvents
{
    private readonly TimeProvider _time;
    private readonly RequestFailures _failures;

    protected AgentEventSource(TimeProvider time, bool wantsRequests)
    {
        _time = time;
        WantsRequests = wantsRequests;
        _failures = new RequestFailures(time, Post);
    }

    /// <inheritdoc/>
    public bool WantsRequests { get; }

    protected DateTimeOffset Now => _time.GetUtcNow();

    public void Connecting(ServerEndpoint server) => Post(new ConnectingEvent(Now, server));

    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream) => Post(new ReadyEvent(Now, publicUrls, upstream));

    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream, IReadOnlyList<ServiceRoute> routes) =>
        Post(new ReadyEvent(Now, publicUrls, upstream) { Routes = routes });

    public void Uplinks(Func<UplinkReading> read) => Post(new UplinksEvent(Now, read));

    public void Routed(UplinkRoute route) => Post(new RouteEvent(Now, route));

    public void Servers(IReadOnlyList<ServerStatus> servers) => Post(new ServersEvent(Now, servers));

    public void ConnectionEnded(ConnectionEnd end) => Post(new ConnectionEndedEvent(Now, end));

    public void Reconnecting(TimeSpan delay) => Post(new ReconnectingEvent(Now, delay));

    public void Draining() => Post(new DrainingEvent(Now));

    public void Stopped()
    {
        _failures.EndWindow();
        Post(new StoppedEvent(Now));
    }

    public void BackendUnreachable(BackendTarget upstream, string message) => Post(new BackendUnreachableEvent(Now, upstream, message));

    public void ServiceChecked(BackendTarget upstream, bool isHealthy, string message) =>
        Post(new ServiceCheckedEvent(Now, upstream, isHealthy, message));

    public void BackendReachable(BackendTarget upstream) => Post(new BackendReachableEvent(Now, upstream));

    public void BackendSurplus(BackendTarget upstream, string message) => Post(new BackendSurplusEvent(Now, upstream, message));

    public void UploadsCut(int count, long heldMegabytes, long limitMegabytes, string message) =>
        Post(new UploadsCutEvent(Now, count, heldMegabytes, limitMegabytes, message));

    public void BackendConnectionsShort(int limit, int waiting, string message) =>
        Post(new BackendConnectionsShortEvent(Now, limit, waiting, message));

    /// <summary>The process may have few files open.</summary>
    public void FewFiles(int limit) => Post(new FewFilesEvent(Now, limit));

    /// <summary>The inspector listens.</summary>
    public void InspectorReady(string url, string? note) => Post(new InspectorReadyEvent(Now, url, note));

    /// <summary>The inspector does not listen.</summary>
    public void InspectorFailed(string message) => Post(new InspectorFailedEvent(Now, message));

    /// <summary>The file of tunnels was read again.</summary>
    public void TunnelsChanged(
        string file,
        IReadOnlyList<string> added,
        IReadOnlyList<string> changed,
        IReadOnlyList<string> removed,
        IReadOnlyList<string> atNextStart) => Post(new TunnelsChangedEvent(Now, file, added, changed, removed, atNextStart));

    /// <summary>The file of tunnels cannot be used as it is now.</summary>
    public void TunnelFileRefused(string message) => Post(new TunnelFileRefusedEvent(Now, message));

    public void RequestFailed(string leg, string error) => _failures.Note(leg, error);

    public void RequestCompleted(RequestSummary request)
    {
        if (WantsRequests)
        {
            Post(new RequestCompletedEvent(Now, request));
        }
    }

    /// <summary>Passes an event on, without waiting.</summary>
    public abstract void Post(AgentEvent agentEvent);
}
