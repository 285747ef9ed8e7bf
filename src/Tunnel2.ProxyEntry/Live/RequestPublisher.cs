using System.Buffers.Binary;
using System.Text;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// The data plane's whole duty towards the live plane: one record per finished request, and one a second for each upgraded connection.
/// Thread-safe; never waits, allocates nothing, enters no kernel. Off until it is given a ring.
/// </summary>
internal sealed class RequestPublisher
{
    private static readonly ushort[] _errorNumbers = [.. ProxyErrorCatalog.All.Select(info => RequestErrorCodes.Number(info.Code))];

    private readonly EventRingProducer? _producer;
    private readonly int _maxPayload;
    private readonly double _microsecondsPerTick;
    private ClockAnchor _anchor;

    /// <param name="ring">Where to, or null to be off.</param>
    /// <param name="timeProvider">The forwarder's clock.</param>
    public RequestPublisher(SharedEventRing? ring, TimeProvider timeProvider)
    {
        Time = ring is null ? null : timeProvider;
        _producer = ring?.CreateProducer();
        _maxPayload = Math.Min(ring?.MaxPayload ?? 0, 512);
        _microsecondsPerTick = 1e6 / timeProvider.TimestampFrequency;
        _anchor = ClockAnchor.Now(timeProvider);
    }

    /// <summary>The name under which requests are recorded that reached no session; no session can have it.</summary>
    public const string NoSession = "-";

    /// <summary>The clock for <see cref="RequestTrace.Begin"/>; null while nobody wants records, which saves reading it.</summary>
    public TimeProvider? Time { get; }

    /// <summary>Records that found no place in the ring.</summary>
    public long Dropped => _producer?.Dropped ?? 0;

    /// <summary>Sets timestamps and the time of day in step again; about once a second, from anywhere.</summary>
    public void Synchronise()
    {
        if (Time is { } time)
        {
            Volatile.Write(ref _anchor, ClockAnchor.Now(time));
        }
    }

    /// <summary>A request has ended, one way or another.</summary>
    public void RequestEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome, long ended)
    {
        if (_producer is null)
        {
            return;
        }

        var trace = request.Trace;
        var error = outcome == RequestOutcome.VisitorAborted ? RequestErrorCodes.VisitorLeft
            : trace.Error is { } failed ? _errorNumbers[(int)failed]
            : RequestErrorCodes.None;
        Publish(
            trace, new VisitorFacts(exchange.Method, exchange.Target), request, error,
            outcome == RequestOutcome.Upgraded ? RequestFlags.Upgraded : RequestFlags.None,
            trace.ReportedAt == 0 ? trace.Started : trace.ReportedAt, ended);
        trace.Forget();
    }

    /// <summary>An upgraded connection goes on. With the watchdog's list held, so that the request cannot end meanwhile.</summary>
    public void UpgradedGoesOn(ForwardedRequest request)
    {
        if (_producer is null || request.Trace is not { Session: not null } trace)
        {
            return;
        }

        var now = Time!.GetTimestamp();
        Publish(
            trace, new VisitorFacts(trace.Method, trace.Target), request, RequestErrorCodes.None, RequestFlags.Upgraded | RequestFlags.Interim,
            trace.ReportedAt == 0 ? trace.Started : trace.ReportedAt, now);
    }

    private void Publish(
        RequestTrace trace, VisitorFacts visitor, ForwardedRequest request, ushort error, RequestFlags flags, long from, long until)
    {
        Span<byte> name = stackalloc byte[RequestRecordCodec.MaxSessionNameLength];
        Span<byte> target = stackalloc byte[256];
        Span<byte> payload = stackalloc byte[512];
        var sessionName = trace.Session?.Name ?? NoSession;
        var nameLength = Encoding.Latin1.GetBytes(sessionName.AsSpan(0, Math.Min(sessionName.Length, name.Length)), name);
        var targetLength = Encoding.Latin1.GetBytes(visitor.Target.AsSpan(0, Math.Min(visitor.Target.Length, target.Length)), target);

        var total = Microseconds(from, until);
        var anchor = Volatile.Read(ref _anchor);
        var ended = anchor.UnixMicroseconds + (long)((until - anchor.Timestamp) * _microsecondsPerTick);
        var (bytesIn, bytesOut) = (request.BytesReceived, request.BytesSent);
        var record = new RequestRecord
        {
            SessionName = name[..nameLength],
            Target = target[..targetLength],
            StartedUnixMicroseconds = ended - total,
            QueueMicroseconds = trace.HeadSent == 0 ? 0 : Microseconds(trace.Started, trace.HeadSent),
            FirstByteMicroseconds = trace.ResponseHead == 0 ? 0 : Microseconds(trace.Started, trace.ResponseHead),
            BodyMicroseconds = trace.ResponseHead == 0 ? 0 : Microseconds(trace.ResponseHead, until),
            TotalMicroseconds = total,
            BytesIn = (ulong)Math.Max(0, bytesIn - trace.ReportedIn),
            BytesOut = (ulong)Math.Max(0, bytesOut - trace.ReportedOut),
            SessionId = trace.Session is { } session ? BinaryPrimitives.ReadUInt64LittleEndian(session.SessionId.Span) : 0,
            StreamId = trace.StreamId,
            UplinkId = trace.UplinkId,
            Status = (ushort)request.Status,
            ErrorCode = error,
            Method = RequestMethods.Parse(visitor.Method),
            Flags = flags,
        };
        var length = RequestRecordCodec.Encode(payload[.._maxPayload], record);
        if (length > 0)
        {
            _producer!.TryPublish((ushort)RecordType.Request, payload[..length]);
        }

        if ((flags & RequestFlags.Interim) != 0)
        {
            trace.ReportedAt = until;
            trace.ReportedIn = bytesIn;
            trace.ReportedOut = bytesOut;
        }
    }

    private uint Microseconds(long from, long until) => (uint)Math.Clamp((until - from) * _microsecondsPerTick, 0, uint.MaxValue);

    /// <summary>One moment on both clocks.</summary>
    private sealed record ClockAnchor(long UnixMicroseconds, long Timestamp)
    {
        public static ClockAnchor Now(TimeProvider time) =>
            new((time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond, time.GetTimestamp());
    }
}
