using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// The data plane's only work for the live plane: one record per finished request, and one a second for each upgraded connection.
/// Thread-safe; it never waits, allocates or enters the kernel. Off without a ring.
/// </summary>
internal sealed class RequestPublisher : RequestObserver
{
    private static readonly byte[] _noSession = Encoding.Latin1.GetBytes(NoSession);
    private static readonly ushort[] _errorNumbers = [.. ProxyErrorCatalog.All.Select(info => RequestErrorCodes.Number(info.Code))];

    private readonly EventRingProducer? _producer;
    private readonly TimeProvider _clock;
    private readonly bool _includesQuery;
    private readonly int _maxPayload;
    private readonly double _microsecondsPerTick;
    private ClockAnchor _anchor;

    /// <param name="ring">The ring, or null for off.</param>
    /// <param name="timeProvider">The forwarder's clock.</param>
    /// <param name="includesQuery">Whether records have the query of a target.</param>
    public RequestPublisher(SharedEventRing? ring, TimeProvider timeProvider, bool includesQuery = false)
    {
        _clock = timeProvider;
        _includesQuery = includesQuery;
        _producer = ring?.CreateProducer();
        _maxPayload = Math.Min(ring?.MaxPayload ?? 0, MaxRecordLength);
        _microsecondsPerTick = 1e6 / timeProvider.TimestampFrequency;
        _anchor = ClockAnchor.Now(timeProvider);
    }

    /// <summary>The name in records of requests without a session; no session can have it.</summary>
    public const string NoSession = "-";

    /// <summary>Bytes of a target that are recorded at most.</summary>
    public const int MaxTargetLength = 256;

    /// <summary>The length of the longest record: its fixed part, a name, a target and a node.</summary>
    private const int MaxRecordLength = 416;

    /// <summary>Records that found no place in the ring.</summary>
    public long Dropped => _producer?.Dropped ?? 0;

    /// <summary>Synchronises timestamps with the time of day; called about once a second, from one thread.</summary>
    /// <returns>How far the time of day was set back since the last call; negative where it was set forward.</returns>
    public TimeSpan Synchronise()
    {
        var before = _anchor;
        var now = ClockAnchor.Now(_clock);
        Volatile.Write(ref _anchor, now);
        return TimeSpan.FromMicroseconds(before.UnixMicrosecondsAt(now.Timestamp, _microsecondsPerTick) - now.UnixMicroseconds);
    }

    /// <summary>The method of a request as records have it.</summary>
    public static RequestMethod MethodOf(VisitorExchange exchange)
    {
        Span<byte> method = stackalloc byte[RequestMethods.MaxNameLength + 1];
        return RequestMethods.Parse(method[..exchange.CopyMethod(method)]);
    }

    /// <summary>
    /// The target of a request as records have it: cut to what fits, and without its query unless the settings ask for it.
    /// </summary>
    /// <returns>Its length.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int CopyTarget(VisitorExchange exchange, Span<byte> destination)
    {
        var length = exchange.CopyTarget(destination);
        return _includesQuery ? length : TargetText.LengthWithoutQuery(destination[..length]);
    }

    /// <inheritdoc/>
    public override RequestMoments Moments =>
        _producer is null ? RequestMoments.None : RequestMoments.StreamOpened | RequestMoments.Lasts | RequestMoments.Ended;

    /// <inheritdoc/>
    /// <remarks>From now on a request that may be upgraded may be reported.</remarks>
    public override void OnStreamOpened(VisitorExchange exchange, ForwardedRequest request)
    {
        if (exchange.IsUpgrade)
        {
            request.UseNote<UpgradeReports>().Begin(exchange, this);
        }
    }

    /// <inheritdoc/>
    public override void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
        var error = outcome == RequestOutcome.VisitorAborted ? RequestErrorCodes.VisitorLeft
            : request.Error is { } failed ? _errorNumbers[(int)failed]
            : RequestErrorCodes.None;
        Span<byte> target = stackalloc byte[MaxTargetLength];
        target = target[..CopyTarget(exchange, target)];
        var reports = request.NoteOf<UpgradeReports>();
        Publish(
            request,
            reports,
            MethodOf(exchange),
            target,
            error,
            outcome == RequestOutcome.Upgraded ? RequestFlags.Upgraded : RequestFlags.None,
            request.Times.Ended);
        reports?.End();
    }

    /// <inheritdoc/>
    public override void OnLasts(ForwardedRequest request)
    {
        if (request.NoteOf<UpgradeReports>() is not { } reports)
        {
            return;
        }

        var now = _clock.GetTimestamp();
        Publish(
            request, reports, reports.Method, reports.Target, RequestErrorCodes.None, RequestFlags.Upgraded | RequestFlags.Interim, now);
    }

    private void Publish(
        ForwardedRequest request, UpgradeReports? reports, RequestMethod method, ReadOnlySpan<byte> target, ushort error,
        RequestFlags flags, long until)
    {
        Span<byte> payload = stackalloc byte[MaxRecordLength];
        Span<byte> node = stackalloc byte[RequestRecordCodec.MaxNodeLength];
        node = request.FailedAt is { } failedAt
            ? node[..Encoding.Latin1.GetBytes(failedAt.AsSpan(0, Math.Min(failedAt.Length, node.Length)), node)]
            : default;
        var name = request.Session?.NameBytes ?? _noSession;

        var times = request.Times;
        var from = reports is { ReportedAt: not 0 } ? reports.ReportedAt : times.Started;
        var total = Microseconds(from, until);
        var anchor = Volatile.Read(ref _anchor);
        var ended = anchor.UnixMicrosecondsAt(until, _microsecondsPerTick);
        var (bytesIn, bytesOut) = (request.BytesReceived, request.BytesSent);
        var record = new RequestRecord
        {
            SessionName = name,
            Target = target,
            StartedUnixMicroseconds = ended - total,
            QueueMicroseconds = times.HeadSent == 0 ? 0 : Microseconds(times.Started, times.HeadSent),
            FirstByteMicroseconds = times.ResponseHead == 0 ? 0 : Microseconds(times.Started, times.ResponseHead),
            BodyMicroseconds = times.ResponseHead == 0 ? 0 : Microseconds(times.ResponseHead, until),
            TotalMicroseconds = total,
            BytesIn = (ulong)Math.Max(0, bytesIn - (reports?.ReportedIn ?? 0)),
            BytesOut = (ulong)Math.Max(0, bytesOut - (reports?.ReportedOut ?? 0)),
            SessionId = request.Session is { } session ? BinaryPrimitives.ReadUInt64LittleEndian(session.SessionId.Span) : 0,
            StreamId = request.StreamId.Value,
            UplinkId = (ushort)Math.Max(0, request.UplinkIndex),
            Status = (ushort)request.Status,
            ErrorCode = error,
            FailedAt = node,
            Method = method,
            Flags = flags,
        };
        var length = RequestRecordCodec.Encode(payload[.._maxPayload], record);
        if (length > 0)
        {
            _producer!.TryPublish((ushort)RecordType.Request, payload[..length]);
        }

        if ((flags & RequestFlags.Interim) != 0)
        {
            reports!.Reported(until, bytesIn, bytesOut);
        }
    }

    private uint Microseconds(long from, long until) => (uint)Math.Clamp((until - from) * _microsecondsPerTick, 0, uint.MaxValue);

    /// <summary>One moment on both clocks.</summary>
    private sealed record ClockAnchor(long UnixMicroseconds, long Timestamp)
    {
        public static ClockAnchor Now(TimeProvider time) =>
            new((time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond, time.GetTimestamp());

        public long UnixMicrosecondsAt(long timestamp, double microsecondsPerTick) =>
            UnixMicroseconds + (long)((timestamp - Timestamp) * microsecondsPerTick);
    }
}
