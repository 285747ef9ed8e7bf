using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>
/// ProxyEntry's metrics, as meter <c>Tunnel2.ProxyEntry</c>; those of requests are in <see cref="RequestMetrics"/>. Tags never contain
/// names of tunnels, because any agent can register one. Thread-safe; recording allocates nothing.
/// </summary>
internal sealed class ProxyEntryMetrics
{
    /// <summary>The name of the meter.</summary>
    public const string MeterName = "Tunnel2.ProxyEntry";

    private static readonly string[] _parkOutcomes = ["none", "returned", "timed_out", "visitor_left", "closed", "gave_way"];

    private static readonly InstrumentAdvice<double> _sessionBuckets = new()
    {
        HistogramBucketBoundaries = [1, 10, 60, 300, 1800, 3600, 21600, 86400, 604800],
    };

    private readonly Counter<long> _rateLimited;
    private readonly UpDownCounter<long> _parkedNow;
    private readonly Counter<long> _parked;
    private readonly UpDownCounter<long> _activeSessions;
    private readonly Counter<long> _rejectedSessions;
    private readonly Histogram<double> _sessionDuration;
    private readonly Counter<long> _accessLogDropped;
    private readonly Counter<long> _exports;
    private readonly Counter<long> _accessRefused;
    private readonly Counter<long> _loginsChecked;
    private readonly Counter<long> _policyAnswers;

    private long _tracesLimited;
    private long _spansDropped;

    /// <param name="factory">Makes the meter.</param>
    public ProxyEntryMetrics(IMeterFactory factory)
    {
        var meter = factory.Create(MeterName);
        _rateLimited = meter.CreateCounter<long>(
            "tunnel2.entry.rate_limited", "{request}", "Requests refused because their session had used what its tier allows.");
        _parkedNow = meter.CreateUpDownCounter<long>(
            "tunnel2.entry.parked.active", "{request}", "Requests that wait for an agent to come back.");
        _parked = meter.CreateCounter<long>(
            "tunnel2.entry.parked", "{request}", "Requests that waited for an agent to come back, or found no place, by outcome.");
        meter.CreateObservableCounter(
            "tunnel2.entry.traces.limited",
            () => Volatile.Read(ref _tracesLimited),
            "{request}",
            "Requests that were not traced because the limit of traced requests was reached.");
        meter.CreateObservableCounter(
            "tunnel2.entry.otlp.spans.dropped",
            () => Volatile.Read(ref _spansDropped),
            "{span}",
            "Spans that were lost because the OTLP collector was too slow.");
        _activeSessions = meter.CreateUpDownCounter<long>("tunnel2.entry.sessions.active", "{session}", "Agents' registrations in force.");
        _rejectedSessions = meter.CreateCounter<long>("tunnel2.entry.sessions.rejected", "{session}", "Agents turned away.");
        _sessionDuration = meter.CreateHistogram(
            "tunnel2.entry.session.duration", "s", "How long sessions lasted, by the reason of their end.", advice: _sessionBuckets);
        _exports = meter.CreateCounter<long>(
            "tunnel2.entry.otlp.exports", "{export}", "Batches that the OTLP collector accepted, or that were lost.");
        _accessRefused = meter.CreateCounter<long>(
            "tunnel2.entry.access.refused", "{request}", "Requests and connections that a tunnel's access rules refused, by the reason.");
        _loginsChecked = meter.CreateCounter<long>(
            "tunnel2.entry.access.logins", "{login}", "Logins of visitors that were checked by the slow hash, by outcome.");
        _policyAnswers = meter.CreateCounter<long>(
            "tunnel2.entry.policy.answers", "{request}", "Requests that a policy answered in place of the service, by the action.");
        _accessLogDropped = meter.CreateCounter<long>(
            "tunnel2.entry.access_log.dropped", "{line}", "Lines of the access log that were lost, by the reason.");
    }

    /// <summary>A request waits for its agent; <see cref="ParkingEnded"/> must follow exactly once.</summary>
    public void ParkingStarted() => _parkedNow.Add(1);

    /// <summary>A request no longer waits for its agent.</summary>
    public void ParkingEnded(ParkOutcome outcome)
    {
        _parkedNow.Add(-1);
        _parked.Add(1, new KeyValuePair<string, object?>("outcome", _parkOutcomes[(int)outcome]));
    }

    /// <summary>A request that should wait found no place.</summary>
    public void ParkingRefused() => _parked.Add(1, new KeyValuePair<string, object?>("outcome", "full"));

    /// <summary>A request was refused because its session has used what its tier allows.</summary>
    public void RateLimited(SessionRateLimit limit) => _rateLimited.Add(1, limit.TierTag);

    /// <summary>A request or connection was refused by its tunnel's access rules.</summary>
    /// <param name="reason">The error's code.</param>
    public void AccessRefused(string reason) => _accessRefused.Add(1, new KeyValuePair<string, object?>("error.type", reason));

    /// <summary>A policy answered a request in place of the service.</summary>
    /// <param name="action"><c>redirect</c> or <c>answer</c>.</param>
    public void PolicyAnswered(string action) => _policyAnswers.Add(1, new KeyValuePair<string, object?>("action", action));

    /// <summary>A login was checked by the slow hash.</summary>
    public void LoginChecked(bool isRight) =>
        _loginsChecked.Add(1, new KeyValuePair<string, object?>("outcome", isRight ? "ok" : "failed"));

    /// <summary>A request was not traced because of <c>Tracing:MaxPerSecond</c>.</summary>
    public void TraceLimited() => Interlocked.Increment(ref _tracesLimited);

    /// <summary>A span was lost because too many waited for the collector.</summary>
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
    /// <param name="reason"><c>full</c>: the writer was too slow; <c>unwritable</c>: the file or output could not be written.</param>
    public void AccessLogDropped(long lines, string reason) =>
        _accessLogDropped.Add(lines, new KeyValuePair<string, object?>("error.type", reason));

    /// <summary>A batch for the collector was sent, or failed.</summary>
    /// <param name="signal"><c>metrics</c> or <c>traces</c>.</param>
    /// <param name="succeeded">Whether the collector accepted it.</param>
    public void Exported(string signal, bool succeeded) =>
        _exports.Add(1, new("signal", signal), new("outcome", succeeded ? "ok" : "failed"));

    /// <summary>An agent was turned away.</summary>
    /// <param name="reason">Why: one of a small fixed set, never free text.</param>
    public void SessionRejected(string reason) => _rejectedSessions.Add(1, new KeyValuePair<string, object?>("error.type", reason));
}
