using System.Diagnostics.Metrics;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>Counts visitors' requests, in the meter of <see cref="ProxyEntryMetrics"/>. Thread-safe; recording allocates nothing.</summary>
internal sealed class RequestMetrics : RequestObserver
{
    private static readonly string[] _outcomes = ["completed", "upgraded", "error", "visitor_aborted", "aborted"];
    private static readonly string[] _statusClasses = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];
    private static readonly int _outcomeCells = _outcomes.Length * _statusClasses.Length;

    // The buckets that OpenTelemetry advises for http.server.request.duration, and three smaller ones: on one machine most requests take
    // less than 5 ms.
    private static readonly InstrumentAdvice<double> _requestBuckets = new()
    {
        HistogramBucketBoundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    };

    private readonly Counter<long> _errors;
    private readonly Counter<long> _moved;
    private readonly Histogram<double> _duration;
    private readonly Histogram<double> _firstByte;

    // Counters that every request increments are plain additions here; listeners read them when they collect. First the numbers of
    // requests by outcome and status class, then the totals.
    private readonly StripedCounters _counters = new(_outcomeCells + (int)Total.Count);

    /// <param name="factory">Makes the meter.</param>
    public RequestMetrics(IMeterFactory factory)
    {
        var meter = factory.Create(ProxyEntryMetrics.MeterName);
        meter.CreateObservableCounter("tunnel2.entry.requests", ObserveEnded, "{request}", "Visitors' requests that ended.");
        _errors = meter.CreateCounter<long>(
            "tunnel2.entry.errors", "{request}", "Requests that ProxyEntry answered with an error of its own.");
        _moved = meter.CreateCounter<long>(
            "tunnel2.entry.requests.moved",
            "{request}",
            "Requests moved to another stream because nothing had been done with them on the first.");
        _duration = meter.CreateHistogram(
            "tunnel2.entry.request.duration", "s", "From a request's head to the end of its response.", advice: _requestBuckets);
        _firstByte = meter.CreateHistogram(
            "tunnel2.entry.request.time_to_first_byte",
            "s",
            "From a request's head to the head of the backend's response.",
            advice: _requestBuckets);
        meter.CreateObservableUpDownCounter(
            "tunnel2.entry.streams.active",
            () => Read(Total.ActiveStreams),
            "{stream}",
            "Exchanges and upgraded connections that are open.");
        meter.CreateObservableCounter(
            "tunnel2.entry.loop.connections.moved",
            () => Read(Total.ConnectionsMoved),
            "{connection}",
            "Moves of a visitor's connection to the event loop of the uplink that its request is for.");
        meter.CreateObservableCounter(
            "tunnel2.entry.loop.streams.crossed",
            () => Read(Total.StreamsCrossed),
            "{stream}",
            "Streams between a visitor's connection and an uplink that live on different event loops.");
        meter.CreateObservableCounter(
            "tunnel2.entry.visitor.received", () => Read(Total.Received), "By", "Body bytes received from visitors.");
        meter.CreateObservableCounter("tunnel2.entry.visitor.sent", () => Read(Total.Sent), "By", "Body bytes sent to visitors.");
    }

    private enum Total
    {
        ActiveStreams,
        ConnectionsMoved,
        StreamsCrossed,
        Received,
        Sent,
        Count,
    }

    /// <inheritdoc/>
    public override RequestMoments Moments =>
        RequestMoments.StreamOpened | RequestMoments.Moved | RequestMoments.StreamEnded | RequestMoments.Failed | RequestMoments.Ended;

    /// <inheritdoc/>
    public override void OnStreamOpened(VisitorExchange exchange, ForwardedRequest request)
    {
        Add(Total.ActiveStreams, 1);
        switch (request.LoopPath)
        {
            case LoopPath.Moved:
                Add(Total.ConnectionsMoved, 1);
                break;
            case LoopPath.Crossed:
                Add(Total.StreamsCrossed, 1);
                break;
            default:
                break;
        }
    }

    /// <inheritdoc/>
    public override void OnMoved(VisitorExchange exchange, ForwardedRequest request, in StreamFailure failure)
    {
        var reason = failure.Kind != StreamFailureKind.PeerReset ? "uplink_lost"
            : failure.Reason == StreamResetReason.BackendConnect ? "backend_connect"
            : "refused";
        _moved.Add(1, new KeyValuePair<string, object?>("error.type", reason));
    }

    /// <inheritdoc/>
    public override void OnStreamEnded(VisitorExchange exchange, ForwardedRequest request) =>
        Add(Total.ActiveStreams, -1);

    /// <inheritdoc/>
    public override void OnFailed(VisitorExchange exchange, ForwardedRequest request, bool isAnswered)
    {
        if (request.Error is { } error)
        {
            var info = ProxyErrorCatalog.Get(error);
            if (info.IsRefusal)
            {
                request.Session?.CountTurnedAway();
            }

            if (_errors.Enabled)
            {
                _errors.Add(1, new("error.type", info.Code), new("leg", info.LegName));
            }
        }
    }

    /// <inheritdoc/>
    public override void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
        Add(Total.Received, request.BytesReceived);
        Add(Total.Sent, request.BytesSent);

        // A status above 599 has no class of its own: it is a failure of the service, as in the live view.
        var statusClass = request.Status switch { < 100 => 0, < 600 and var status => status / 100, _ => 5 };
        _counters.Add(((int)outcome * _statusClasses.Length) + statusClass, 1);
        if (_duration.Enabled)
        {
            _duration.Record(request.Times.Total.TotalSeconds, OutcomeTag((int)outcome), StatusTag(statusClass));
        }

        if (_firstByte.Enabled && request.Times.FirstByte is { } elapsed)
        {
            _firstByte.Record(elapsed.TotalSeconds);
        }
    }

    private void Add(Total total, long amount)
    {
        if (amount != 0)
        {
            _counters.Add(_outcomeCells + (int)total, amount);
        }
    }

    private long Read(Total total) => _counters.Sum(_outcomeCells + (int)total);

    private static KeyValuePair<string, object?> OutcomeTag(int outcome) => new("outcome", _outcomes[outcome]);

    private static KeyValuePair<string, object?> StatusTag(int statusClass) =>
        new("http.response.status_class", _statusClasses[statusClass]);

    private IEnumerable<Measurement<long>> ObserveEnded()
    {
        for (var i = 0; i < _outcomeCells; i++)
        {
            if (_counters.Sum(i) is > 0 and var count)
            {
                yield return new Measurement<long>(count, OutcomeTag(i / _statusClasses.Length), StatusTag(i % _statusClasses.Length));
            }
        }
    }
}
