using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>Metrics of the links between nodes, in the meter of <see cref="ProxyEntryMetrics"/>. Thread-safe.</summary>
internal sealed class NodeLinkMetrics
{
    private static readonly KeyValuePair<string, object?> _out = new("direction", "out");
    private static readonly KeyValuePair<string, object?> _in = new("direction", "in");

    private readonly UpDownCounter<long> _links;
    private readonly Counter<long> _failures;
    private readonly Counter<long> _refused;
    private long _sent;
    private long _served;

    /// <param name="factory">Makes the meter.</param>
    public NodeLinkMetrics(IMeterFactory factory)
    {
        var meter = factory.Create(ProxyEntryMetrics.MeterName);
        _links = meter.CreateUpDownCounter<long>(
            "tunnel2.entry.node.links", "{connection}", "Open connections to other nodes (out) and of other nodes (in).");
        _failures = meter.CreateCounter<long>(
            "tunnel2.entry.node.link_failures", "{connection}", "Links that could not be opened (out) or were refused (in).");
        meter.CreateObservableCounter(
            "tunnel2.entry.node.streams",
            () => new Measurement<long>[] { new(Volatile.Read(ref _sent), _out), new(Volatile.Read(ref _served), _in) },
            "{stream}",
            "Requests that were passed to the node of their session (out), or came from another node (in).");
        _refused = meter.CreateCounter<long>(
            "tunnel2.entry.node.hops_refused",
            "{stream}",
            "Requests of other nodes that were refused because their session was not here.");
    }

    /// <summary>A link is open.</summary>
    public void Opened(bool isOut) => _links.Add(1, isOut ? _out : _in);

    /// <summary>A link has closed.</summary>
    public void Closed(bool isOut) => _links.Add(-1, isOut ? _out : _in);

    /// <summary>A link could not be opened, or was refused.</summary>
    public void Failed(bool isOut) => _failures.Add(1, isOut ? _out : _in);

    /// <summary>A request goes to another node.</summary>
    public void Sent() => Interlocked.Increment(ref _sent);

    /// <summary>A request of another node was accepted.</summary>
    public void Served() => Interlocked.Increment(ref _served);

    /// <summary>A request of another node was refused.</summary>
    public void Refused() => _refused.Add(1);
}
