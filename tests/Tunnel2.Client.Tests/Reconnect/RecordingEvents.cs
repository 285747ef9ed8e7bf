using System.Collections.Concurrent;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Tests.Reconnect;

/// <summary>Keeps the names of events in their order, and the delays.</summary>
internal sealed class RecordingEvents : IAgentEvents
{
    public ConcurrentQueue<string> Names { get; } = new();

    public ConcurrentQueue<TimeSpan> Delays { get; } = new();

    public bool WantsRequests => false;

    public void Connecting(ServerEndpoint server) => Names.Enqueue("connecting");

    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream) => Names.Enqueue("ready");

    public void ConnectionEnded(ConnectionEnd end) => Names.Enqueue(end.Reason.ToString());

    public void Reconnecting(TimeSpan delay)
    {
        Names.Enqueue("reconnecting");
        Delays.Enqueue(delay);
    }

    public void Draining() => Names.Enqueue("draining");

    public void Stopped() => Names.Enqueue("stopped");

    public void RequestCompleted(RequestSummary request) => Names.Enqueue("request");
}
