using System.Diagnostics.Metrics;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The hub's instruments. Safe on any thread.</summary>
internal sealed class HubMetrics
{
    /// <summary>Name of the meter that a host creates for the hub.</summary>
    internal const string MeterName = "Tunnel2.Telemetry.Hub";

    private readonly Counter<long> _sent;
    private readonly Counter<long> _published;
    private readonly Counter<long> _dropped;
    private readonly Counter<long> _cut;
    private readonly Counter<long> _refused;

    internal HubMetrics(Meter meter, Func<int> connections)
    {
        _sent = meter.CreateCounter<long>("tunnel2.hub.sent", "By", "Bytes handed to subscribers' sockets.");
        _published = meter.CreateCounter<long>("tunnel2.hub.published", "{message}", "Messages published on all channels.");
        _dropped = meter.CreateCounter<long>("tunnel2.hub.dropped", "{message}", "Messages dropped for a subscriber whose queue was full.");
        _cut = meter.CreateCounter<long>("tunnel2.hub.cut", "{connection}", "Subscribers cut off, by reason.");
        _refused = meter.CreateCounter<long>("tunnel2.hub.refused", "{connection}", "Connections refused before the upgrade, by reason.");
        meter.CreateObservableUpDownCounter(
            "tunnel2.hub.connections", () => connections(), "{connection}", "Subscribers that are connected.");
    }

    internal void Sent(long bytes) => _sent.Add(bytes);

    internal void Published() => _published.Add(1);

    internal void Dropped() => _dropped.Add(1);

    internal void Cut(string reason) => _cut.Add(1, new KeyValuePair<string, object?>("reason", reason));

    internal void Refused(string reason) => _refused.Add(1, new KeyValuePair<string, object?>("reason", reason));
}
