using System.Diagnostics.Metrics;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Ways;
using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The agent's limits as metrics: how much of each is used, and what was refused or cut by it. They cost nothing until a program listens
/// (<c>dotnet-counters</c>, <c>dotnet-trace</c>, a <see cref="MeterListener"/>); the agent has no port of its own for them. Thread-safe.
/// </summary>
internal sealed class AgentMetrics : IDisposable
{
    public const string MeterName = "Tunnel2.Agent";

    private readonly Meter _meter;

    /// <summary>Shows the limits of one tunnel.</summary>
    /// <param name="name">The tunnel's name.</param>
    /// <param name="exchanges">The tunnel's requests.</param>
    /// <param name="uploads">What the process holds of uploads.</param>
    /// <param name="ways">How the tunnel's uplinks reach the server.</param>
    public AgentMetrics(string name, ExchangeContext exchanges, ReceiveBudget uploads, UplinkWays ways)
    {
        _meter = new Meter(new MeterOptions(MeterName) { Tags = [new("tunnel", name)] });
        var own = exchanges.Connector.Slots;
        var slots = own.All;
        Gauge("backend.connections", () => slots.Taken, "{connection}", "Connections to backends, those of all tunnels of the process.");
        Gauge("backend.connections.limit", () => slots.Limit, "{connection}", "How many there may be.");
        Gauge("backend.connections.own", () => own.Held, "{connection}", "Those of this tunnel.");
        Gauge("backend.connections.share", () => slots.Share, "{connection}", "How many of them the other tunnels leave free.");
        Gauge("backend.connections.waiting", () => slots.Waiting, "{request}", "Requests that wait for one.");
        Counter(
            "backend.connections.short",
            () => exchanges.Shortages,
            "{request}",
            "Requests that had to wait for one, or found no descriptor left.");
        Gauge(
            "uplink.websocket",
            () => ways.Current == UplinkWay.WebSocket ? 1 : 0,
            "1",
            "1 while the uplinks go over WebSocket, 0 while they go to their own port.");
        Gauge("streams", () => exchanges.Active, "{stream}", "Requests under way.");
        Gauge("streams.limit", () => exchanges.MaxActive, "{stream}", "How many there may be.");
        Counter("streams.refused", () => exchanges.Refused, "{stream}", "Requests that were refused because there were as many.");
        Gauge(
            "receive.held",
            () => uploads.Held,
            "By",
            "Bytes of uploads that services have not taken, in portions of 256 KiB, of all tunnels of the process.");
        Gauge("receive.limit", () => uploads.Limit, "By", "What may be held before stalled uploads are cut.");
        Counter(
            "receive.cut", () => uploads.CutStreams, "{stream}", "Uploads that were cut because they stalled and memory was short.");
    }

    /// <inheritdoc/>
    public void Dispose() => _meter.Dispose();

    private void Gauge(string name, Func<long> read, string unit, string description) =>
        _meter.CreateObservableGauge($"tunnel2.agent.{name}", read, unit, description);

    private void Counter(string name, Func<long> read, string unit, string description) =>
        _meter.CreateObservableCounter($"tunnel2.agent.{name}", read, unit, description);
}
