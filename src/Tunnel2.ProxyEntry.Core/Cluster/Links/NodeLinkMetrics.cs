using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>Metrics of the links between nodes, in the meter of <see cref="ProxyEntryMetrics"/>. Thread-safe.</summary>
internal sealed class NodeLinkMetrics
{
    private static readonly KeyValuePair<string, object?> _out = new("direction", "out");
    private static readonly KeyValuePair<string, object?> _in = new("direction", "in");

    private static readonly InstrumentAdvice<double> _callBuckets = new()
    {
        HistogramBucketBoundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    };

    private readonly UpDownCounter<long> _links;
    private readonly Counter<long> _failures;
    private readonly Counter<long> _refused;
    private readonly Counter<long> _calls;
    private readonly Counter<long> _callFailures;
    private readonly Histogram<double> _callDuration;
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
        _calls = meter.CreateCounter<long>(
            "tunnel2.entry.node.calls", "{call}", "Calls of the API of other nodes (out), and of other nodes here (in).");
        _callFailures = meter.CreateCounter<long>(
            "tunnel2.entry.node.call_failures", "{call}", "Calls that were not answered as they should be, by error.type.");
        _callDuration = meter.CreateHistogram(
            "tunnel2.entry.node.call.duration", "s", "From a call of another node's API to the head of the answer.", advice: _callBuckets);
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

    /// <summary>The API of another node is called, or another node calls this one's.</summary>
    public void Called(bool isOut) => _calls.Add(1, isOut ? _out : _in);

    /// <summary>A call has failed.</summary>
    /// <param name="isOut">Whether it went to another node.</param>
    /// <param name="reason">One of a few words, or a status of 500 or more.</param>
    public void CallFailed(bool isOut, string reason) =>
        _callFailures.Add(1, isOut ? _out : _in, new KeyValuePair<string, object?>("error.type", reason));

    /// <summary>Another node has begun to answer.</summary>
    public void CallAnswered(TimeSpan after) => _callDuration.Record(after.TotalSeconds);

    /// <summary>A request of another node was refused.</summary>
    public void Refused() => _refused.Add(1);
}
