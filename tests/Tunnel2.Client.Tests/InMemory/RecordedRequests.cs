using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>Keeps what is reported of requests and of the backend.</summary>
internal sealed class RecordedRequests(bool wantsRequests) : IAgentEvents
{
    /// <summary>Requests that came to their end; where they are of interest.</summary>
    public List<RequestSummary> Completed { get; } = [];

    /// <summary>Where requests failed, and how; where summaries are of no interest.</summary>
    public List<(string Leg, string Error)> Failed { get; } = [];

    /// <summary>How often the backend was caught sending what is no part of a response.</summary>
    public int Surpluses { get; private set; }

    /// <summary>How often there were too few connections.</summary>
    public int Shortages { get; private set; }

    /// <summary>What was said of a backend that cannot be reached, or not be understood.</summary>
    public List<string> Unreachable { get; } = [];

    public bool WantsRequests => wantsRequests;

    public void RequestCompleted(RequestSummary request) => Completed.Add(request);

    public void RequestFailed(string leg, string error) => Failed.Add((leg, error));

    public void BackendUnreachable(BackendTarget upstream, string message) => Unreachable.Add(message);

    public void BackendSurplus(BackendTarget upstream, string message) => Surpluses++;

    public void BackendConnectionsShort(int limit, int waiting, string message) => Shortages++;

    public void Connecting(ServerEndpoint server)
    {
    }

    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream)
    {
    }

    public void ConnectionEnded(ConnectionEnd end)
    {
    }

    public void Reconnecting(TimeSpan delay)
    {
    }

    public void Draining()
    {
    }

    public void Stopped()
    {
    }
}
