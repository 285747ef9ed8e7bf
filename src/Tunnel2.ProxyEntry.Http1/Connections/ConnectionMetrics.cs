using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Metrics of connections and their limits, on the meter of ProxyEntry. Thread-safe.</summary>
internal sealed class ConnectionMetrics
{
    private readonly Meter _meter;
    private readonly Counter<long> _waits;
    private readonly Counter<long> _refused;
    private readonly Counter<long> _ended;
    private readonly Counter<long> _floods;
    private readonly Counter<long> _heads;
    private readonly Counter<long> _failures;

    public ConnectionMetrics(IMeterFactory factory)
    {
        _meter = factory.Create(ProxyEntryMetrics.MeterName);
        _waits = _meter.CreateCounter<long>(
            "tunnel2.entry.connections.waits",
            "{wait}",
            "How often a listener had to wait because the limit of connections was reached.");
        _refused = _meter.CreateCounter<long>(
            "tunnel2.entry.connections.refused", "{connection}", "Connections closed at once because their address had reached its limit.");
        _ended = _meter.CreateCounter<long>(
            "tunnel2.entry.connections.ended",
            "{connection}",
            "Connections that were ended to make room: they only waited, or their tunnel had most of the places.");
        _floods = _meter.CreateCounter<long>(
            "tunnel2.entry.http2.floods", "{connection}", "Connections of HTTP/2 ended because their frames cost work and carry nothing.");
        _heads = _meter.CreateCounter<long>(
            "tunnel2.entry.http2.heads.refused",
            "{request}",
            "Requests over HTTP/2 refused because large heads had as much memory as they may.");
        _failures = _meter.CreateCounter<long>(
            "tunnel2.entry.accept.failures", "{failure}", "Accepts that failed because the system lacked descriptors or memory.");
    }

    /// <summary>Publishes how many connections of each kind there are, and may be.</summary>
    public void Observe(Func<IReadOnlyList<(string Kind, int Count, int Most)>> read)
    {
        _meter.CreateObservableUpDownCounter(
            "tunnel2.entry.connections.active",
            () => read().Select(static one => new Measurement<long>(one.Count, Tag(one.Kind))),
            "{connection}",
            "Connections that are open.");
        _meter.CreateObservableGauge(
            "tunnel2.entry.connections.limit",
            () => read().Select(static one => new Measurement<long>(one.Most, Tag(one.Kind))),
            "{connection}",
            "Connections that there may be at most.");
    }

    /// <summary>A listener has to wait.</summary>
    public void Waited(string kind) => _waits.Add(1, Tag(kind));

    /// <summary>A connection was closed because its address had reached its limit.</summary>
    public void Refused(string kind) => _refused.Add(1, Tag(kind));

    /// <summary>Connections were ended to make room.</summary>
    public void Ended(string kind, int count) => _ended.Add(count, Tag(kind));

    /// <summary>A connection of HTTP/2 was ended because of what its visitor sent.</summary>
    public void Flooded(string error) => _floods.Add(1, ErrorTag(error));

    /// <summary>A request of HTTP/2 was refused because of its large head.</summary>
    public void HeadRefused() => _heads.Add(1);

    /// <summary>An accept failed.</summary>
    public void AcceptFailed(string error) => _failures.Add(1, ErrorTag(error));

    private static KeyValuePair<string, object?> ErrorTag(string error) => new("error.type", error);

    private static KeyValuePair<string, object?> Tag(string kind) => new("kind", kind);
}
