using System.Collections.Concurrent;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>What an agent reported, to be waited for. Thread-safe.</summary>
internal sealed class AgentEventLog : IAgentEvents
{
    private readonly ConcurrentQueue<ConnectionEnd> _ends = new();
    private readonly ConcurrentQueue<RequestSummary> _requests = new();

    public bool WantsRequests { get; init; }

    public AsyncCounter ReadyCount { get; } = new("sessions that became ready");

    public AsyncCounter EndCount { get; } = new("ends of sessions");

    public AsyncCounter DrainingCount { get; } = new("drains");

    public AsyncCounter StoppedCount { get; } = new("stops");

    public AsyncCounter BackendUnreachableCount { get; } = new("backends that are down");

    public AsyncCounter BackendReachableCount { get; } = new("backends that are back");

    public string? BackendMessage { get; private set; }

    public AsyncCounter ShortCount { get; } = new("shortages of connections");

    public string? ShortMessage { get; private set; }

    public AsyncCounter RequestCount { get; } = new("requests reported by the agent");

    public IReadOnlyList<string> PublicUrls { get; private set; } = [];

    public IReadOnlyList<ConnectionEnd> Ends => [.. _ends];

    public IReadOnlyList<RequestSummary> Requests => [.. _requests];

    public void Connecting(ServerEndpoint server)
    {
    }

    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream)
    {
        PublicUrls = publicUrls;
        ReadyCount.Increment();
    }

    /// <summary>How the server was reached, in order.</summary>
    public ConcurrentQueue<UplinkRoute> Routes { get; } = new();

    public AsyncCounter RouteCount { get; } = new("ways that the agent took");

    public void Routed(UplinkRoute route)
    {
        Routes.Enqueue(route);
        RouteCount.Increment();
    }

    /// <summary>With which of several servers the agent had sessions, at each change.</summary>
    public ConcurrentQueue<IReadOnlyList<ServerStatus>> ServerChanges { get; } = new();

    public AsyncCounter ServersCount { get; } = new("changes of several servers");

    public void Servers(IReadOnlyList<ServerStatus> servers)
    {
        ServerChanges.Enqueue(servers);
        ServersCount.Increment();
    }

    /// <summary>Waits until the agent has sessions with so many of its servers.</summary>
    public Task WaitForServersAsync(int count) => WaitSignal.UntilAsync(
        () => ServerChanges.LastOrDefault()?.Count(static one => one.IsConnected) == count, $"{count} servers are connected",
        TimeSpan.FromSeconds(60));

    public void ConnectionEnded(ConnectionEnd end)
    {
        _ends.Enqueue(end);
        EndCount.Increment();
    }

    public void Reconnecting(TimeSpan delay)
    {
    }

    public void Draining() => DrainingCount.Increment();

    public void Stopped() => StoppedCount.Increment();

    public void BackendUnreachable(BackendTarget upstream, string message)
    {
        BackendMessage = message;
        BackendUnreachableCount.Increment();
    }

    public void BackendReachable(BackendTarget upstream) => BackendReachableCount.Increment();

    public void BackendConnectionsShort(int limit, int waiting, string message)
    {
        ShortMessage = message;
        ShortCount.Increment();
    }

    /// <summary>Requests that failed, and how.</summary>
    public ConcurrentQueue<(string Leg, string Error)> Failures { get; } = new();

    public void RequestFailed(string leg, string error) => Failures.Enqueue((leg, error));

    public void RequestCompleted(RequestSummary request)
    {
        _requests.Enqueue(request);
        RequestCount.Increment();
    }
}
