using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Diagnostics.Summing;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>
/// What ProxyEntry counts, as meter <c>Tunnel2.ProxyEntry</c>. Names never appear in tags: everybody can register one. Thread-safe;
/// recording allocates nothing.
/// </summary>
internal sealed class ProxyEntryMetrics
{
    /// <summary>The name of the meter.</summary>
    public const string MeterName = "Tunnel2.ProxyEntry";

    private static readonly string[] _outcomes = ["completed", "upgraded", "error", "visitor_aborted", "aborted"];
    private static readonly string[] _parkOutcomes = ["none", "returned", "timed_out", "visitor_left", "closed"];
    private static readonly string[] _statusClasses = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

    // http.server.request.duration's advice, and three more below: on one machine most requests take less than 5 ms.
    private static readonly InstrumentAdvice<double> _requestBuckets = new()
    {
        HistogramBucketBoundaries = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    };

    private static readonly InstrumentAdvice<double> _sessionBuckets = new()
    {
        HistogramBucketBoundaries = [1, 10, 60, 300, 1800, 3600, 21600, 86400, 604800],
    };

    private readonly Counter<long> _errors;
    private readonly Counter<long> _moved;
    private readonly Counter<long> _rateLimited;
    private readonly Histogram<double> _duration;
    private readonly Histogram<double> _firstByte;
    private readonly UpDownCounter<long> _parkedNow;
    private readonly Counter<long> _parked;
    private readonly UpDownCounter<long> _activeSessions;
    private readonly Counter<long> _rejectedSessions;
    private readonly Histogram<double> _sessionDuration;
    private readonly Counter<long> _accessLogDropped;
    private readonly Counter<long> _exports;

    // What every request counts is kept here and asked for when somebody looks: an addition instead of a call of each listener.
    private readonly long[] _ended = new long[_outcomes.Length * _statusClasses.Length];
    private long _activeStreams;
    private long _connectionsMoved;
    private long _streamsCrossed;
    private long _received;
    private long _sent;
    private long _tracesLimited;
    private long _spansDropped;

    /// <param name="factory">Makes the meter.</param>
    /// <param name="sums">Knows how many log lines were not written.</param>
    public ProxyEntryMetrics(IMeterFactory factory, LogSums? sums = null)
    {
        var meter = factory.Create(MeterName);
        meter.CreateObservableCounter(
            "tunnel2.entry.log.suppressed", () => sums?.Suppressed ?? 0, "{line}", "Log lines that were counted and not written, because there were many of their kind.");
        meter.CreateObservableCounter("tunnel2.entry.requests", ObserveEnded, "{request}", "Visitors' requests that ended.");
        _errors = meter.CreateCounter<long>("tunnel2.entry.errors", "{request}", "Requests that ProxyEntry answered with an error of its own.");
        _moved = meter.CreateCounter<long>(
            "tunnel2.entry.requests.moved", "{request}", "Requests taken to another stream because nothing had been done with them on the first.");
        _rateLimited = meter.CreateCounter<long>("tunnel2.entry.rate_limited", "{request}", "Requests refused because their session had more than its tier allows.");
        _duration = meter.CreateHistogram(
            "tunnel2.entry.request.duration", "s", "From a request's head to the end of its response.", advice: _requestBuckets);
        _firstByte = meter.CreateHistogram(
            "tunnel2.entry.request.time_to_first_byte", "s", "From a request's head to the head of the backend's response.", advice: _requestBuckets);
        meter.CreateObservableUpDownCounter(
            "tunnel2.entry.streams.active", () => Volatile.Read(ref _activeStreams), "{stream}", "Exchanges and upgraded connections that are open.");
        meter.CreateObservableCounter(
            "tunnel2.entry.loop.connections.moved", () => Volatile.Read(ref _connectionsMoved), "{connection}", "Times that a visitor's connection went to the event loop of the uplink that its request is for.");
        meter.CreateObservableCounter(
            "tunnel2.entry.loop.streams.crossed", () => Volatile.Read(ref _streamsCrossed), "{stream}", "Streams between a visitor's connection and an uplink that live on different event loops.");
        _parkedNow = meter.CreateUpDownCounter<long>("tunnel2.entry.parked.active", "{request}", "Requests that wait for an agent to come back.");
        _parked = meter.CreateCounter<long>("tunnel2.entry.parked", "{request}", "Requests that waited for an agent to come back, or found no place to, by how it ended.");
        meter.CreateObservableCounter("tunnel2.entry.visitor.received", () => Volatile.Read(ref _received), "By", "Body bytes received from visitors.");
        meter.CreateObservableCounter("tunnel2.entry.visitor.sent", () => Volatile.Read(ref _sent), "By", "Body bytes sent to visitors.");
        meter.CreateObservableCounter(
            "tunnel2.entry.traces.limited", () => Volatile.Read(ref _tracesLimited), "{request}", "Requests that were to be traced and were not, because as many as may be were.");
        meter.CreateObservableCounter(
            "tunnel2.entry.otlp.spans.dropped", () => Volatile.Read(ref _spansDropped), "{span}", "Spans that were lost because the collector of OTLP takes them too slowly.");
        _activeSessions = meter.CreateUpDownCounter<long>("tunnel2.entry.sessions.active", "{session}", "Agents' registrations in force.");
        _rejectedSessions = meter.CreateCounter<long>("tunnel2.entry.sessions.rejected", "{session}", "Agents turned away.");
        _sessionDuration = meter.CreateHistogram(
            "tunnel2.entry.session.duration", "s", "How long sessions lasted, by the reason of their end.", advice: _sessionBuckets);
        _exports = meter.CreateCounter<long>("tunnel2.entry.otlp.exports", "{export}", "Batches sent to the collector of OTLP, or lost because it did not take them.");
        _accessLogDropped = meter.CreateCounter<long>("tunnel2.entry.access_log.dropped", "{line}", "Lines of the access log that were lost, by the reason.");
    }

    /// <summary>A stream was opened; <see cref="StreamEnded"/> must follow exactly once.</summary>
    public void StreamStarted() => Interlocked.Increment(ref _activeStreams);

    /// <summary>A stream has ended.</summary>
    public void StreamEnded() => Interlocked.Decrement(ref _activeStreams);

    /// <summary>A visitor's connection went to another loop.</summary>
    public void ConnectionMoved() => Interlocked.Increment(ref _connectionsMoved);

    /// <summary>A visitor's stream goes over an uplink of another loop.</summary>
    public void StreamCrossed() => Interlocked.Increment(ref _streamsCrossed);

    /// <summary>A request waits for its agent; <see cref="ParkingEnded"/> must follow exactly once.</summary>
    public void ParkingStarted() => _parkedNow.Add(1);

    /// <summary>A request waits no longer.</summary>
    public void ParkingEnded(ParkOutcome outcome)
    {
        _parkedNow.Add(-1);
        _parked.Add(1, new KeyValuePair<string, object?>("outcome", _parkOutcomes[(int)outcome]));
    }

    /// <summary>A request found no place to wait.</summary>
    public void ParkingRefused() => _parked.Add(1, new KeyValuePair<string, object?>("outcome", "full"));

    /// <summary>A visitor's request has ended.</summary>
    /// <param name="outcome">How.</param>
    /// <param name="status">The status that was sent; 0 when none was.</param>
    /// <param name="duration">From its head to the end of its response.</param>
    public void RequestEnded(RequestOutcome outcome, int status, TimeSpan duration)
    {
        var statusClass = status is >= 100 and < 600 ? status / 100 : 0;
        Interlocked.Increment(ref _ended[((int)outcome * _statusClasses.Length) + statusClass]);
        if (_duration.Enabled)
        {
            _duration.Record(duration.TotalSeconds, OutcomeTag((int)outcome), StatusTag(statusClass));
        }
    }

    /// <summary>How long the first byte of a response took; null when none came from the backend.</summary>
    public void FirstByte(TimeSpan? time)
    {
        if (time is { } elapsed && _firstByte.Enabled)
        {
            _firstByte.Record(elapsed.TotalSeconds);
        }
    }

    /// <summary>ProxyEntry answered, or aborted, a request by its own decision.</summary>
    public void RequestFailed(ProxyError error)
    {
        if (_errors.Enabled)
        {
            var info = ProxyErrorCatalog.Get(error);
            _errors.Add(1, new("error.type", info.Code), new("leg", info.LegName));
        }
    }

    /// <summary>A request was refused because its session has had its share.</summary>
    public void RateLimited(SessionRateLimit limit) => _rateLimited.Add(1, limit.TierTag);

    /// <summary>A request goes to another stream.</summary>
    /// <param name="reason"><c>refused</c> or <c>uplink_lost</c>.</param>
    public void RequestMoved(string reason) => _moved.Add(1, new KeyValuePair<string, object?>("error.type", reason));

    /// <summary>Body bytes came from a visitor.</summary>
    public void BytesReceived(long bytes)
    {
        if (bytes != 0)
        {
            Interlocked.Add(ref _received, bytes);
        }
    }

    /// <summary>Body bytes went to a visitor.</summary>
    public void BytesSent(long bytes)
    {
        if (bytes != 0)
        {
            Interlocked.Add(ref _sent, bytes);
        }
    }

    /// <summary>A request was to be traced, and is not: there were too many.</summary>
    public void TraceLimited() => Interlocked.Increment(ref _tracesLimited);

    /// <summary>A span was lost: too many wait for the collector.</summary>
    public void SpanDropped() => Interlocked.Increment(ref _spansDropped);

    /// <summary>A session was registered; <see cref="SessionEnded"/> must follow exactly once.</summary>
    public void SessionStarted() => _activeSessions.Add(1);

    /// <summary>A session has ended.</summary>
    /// <param name="duration">How long it lasted.</param>
    /// <param name="reason">Why: one of a small fixed set in snake or kebab case, never free text.</param>
    public void SessionEnded(TimeSpan duration, string reason)
    {
        _activeSessions.Add(-1);
        _sessionDuration.Record(duration.TotalSeconds, new KeyValuePair<string, object?>("error.type", reason));
    }

    /// <summary>Lines of the access log were lost.</summary>
    /// <param name="lines">How many.</param>
    /// <param name="reason"><c>full</c>: the writer was too slow; <c>unwritable</c>: the file or output took none.</param>
    public void AccessLogDropped(long lines, string reason) => _accessLogDropped.Add(lines, new KeyValuePair<string, object?>("error.type", reason));

    /// <summary>A batch was sent to the collector, or could not be.</summary>
    /// <param name="signal"><c>metrics</c> or <c>traces</c>.</param>
    /// <param name="succeeded">Whether it took the batch.</param>
    public void Exported(string signal, bool succeeded) => _exports.Add(1, new("signal", signal), new("outcome", succeeded ? "ok" : "failed"));

    /// <summary>An agent was turned away.</summary>
    /// <param name="reason">Why: one of a small fixed set, never free text.</param>
    public void SessionRejected(string reason) => _rejectedSessions.Add(1, new KeyValuePair<string, object?>("error.type", reason));

    private static KeyValuePair<string, object?> OutcomeTag(int outcome) => new("outcome", _outcomes[outcome]);

    private static KeyValuePair<string, object?> StatusTag(int statusClass) => new("http.response.status_class", _statusClasses[statusClass]);

    private IEnumerable<Measurement<long>> ObserveEnded()
    {
        for (var i = 0; i < _ended.Length; i++)
        {
            if (Volatile.Read(ref _ended[i]) is > 0 and var count)
            {
                yield return new Measurement<long>(count, OutcomeTag(i / _statusClasses.Length), StatusTag(i % _statusClasses.Length));
            }
        }
    }
}
