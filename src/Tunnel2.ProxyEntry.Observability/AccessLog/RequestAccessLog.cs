using System.Buffers.Binary;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// Records each finished request; a separate thread writes the lines. It never blocks and never allocates on the caller's thread; records
/// without room are dropped and counted. Thread-safe.
/// </summary>
internal sealed class RequestAccessLog : RequestObserver, IDisposable
{
    /// <summary>How many records may wait: about 5 MB, only when the log is on.</summary>
    private const int RingCapacity = 8192;

    private readonly AccessLogSettings _settings;
    private readonly ProxyEntryMetrics _metrics;
    private readonly TimeProvider _timeProvider;
    private readonly AccessLogRing? _ring;
    private readonly AccessLogWriter? _writer;
    private readonly ulong _sampleBelow;

    public RequestAccessLog(
        ProxyEntrySettings settings, ProxyEntryMetrics metrics, TimeProvider timeProvider, ILogger<RequestAccessLog> logger)
        : this(settings.AccessLog, CreateSink, RingCapacity, metrics, timeProvider, logger)
    {
    }

    /// <summary>For tests: with their own sink and capacity.</summary>
    internal RequestAccessLog(
        AccessLogSettings settings, Func<AccessLogSettings, IAccessLogSink> createSink, int capacity, ProxyEntryMetrics metrics,
        TimeProvider timeProvider, ILogger logger)
    {
        _settings = settings;
        _metrics = metrics;
        _timeProvider = timeProvider;
        if (settings.Mode == AccessLogMode.Off)
        {
            return;
        }

        _sampleBelow = settings.SampleRate >= 1 ? ulong.MaxValue : (ulong)(settings.SampleRate * ulong.MaxValue);
        _ring = new AccessLogRing(capacity);
        _writer = new AccessLogWriter(_ring, CreateFormatter(settings), createSink(settings), metrics, timeProvider, logger);
    }

    /// <inheritdoc/>
    public override RequestMoments Moments => _ring is null ? RequestMoments.None : RequestMoments.Ended;

    /// <inheritdoc/>
    public override void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
        if (_ring is not { } ring || (request.Error is null && !IsSampled()))
        {
            return;
        }

        // Values of other objects are read before a slot is claimed, because after the claim nothing may fail.
        var now = _timeProvider.GetUtcNow().UtcTicks;
        Span<byte> method = stackalloc byte[AccessLogRecord.MaxMethodLength];
        method = method[..exchange.CopyMethod(method)];

        // One byte more than the record has room for, which shows whether the path was cut.
        Span<byte> path = stackalloc byte[AccessLogRecord.MaxPathLength + 1];
        path = path[..exchange.CopyTarget(path)];
        if (!_settings.IncludesQuery)
        {
            path = path[..TargetText.LengthWithoutQuery(path)];
        }

        var session = request.Session;
        var name = session is null ? TargetText.WithoutUserInfo(exchange.Authority) : session.Name;
        var address = exchange.RemoteAddress;
        Span<byte> forwardedFor = stackalloc byte[AccessLogRecord.MaxForwardedForLength];
        forwardedFor = forwardedFor[..exchange.CopyForwardedFor(forwardedFor)];
        Span<char> requestId = stackalloc char[48];
        requestId = requestId[..exchange.WriteRequestId(requestId)];
        var stream = request.StreamId;
        if (!ring.TryClaim(out var position))
        {
            _writer!.Dropped();
            _metrics.AccessLogDropped(1, "full");
            return;
        }

        ref var record = ref ring.At(position);
        record.EndedTicks = now;
        record.DurationTicks = request.Times.Total.Ticks;
        record.FirstByteTicks = request.Times.FirstByte?.Ticks ?? -1;
        record.BytesIn = request.BytesReceived;
        record.BytesOut = request.BytesSent;
        record.Stream = stream;
        record.HasSession = session is not null;
        record.Session = session is null ? 0 : BinaryPrimitives.ReadUInt32BigEndian(session.SessionId.Span);
        record.UplinkIndex = (short)request.UplinkIndex;
        record.Status = request.Status;
        record.Outcome = outcome;
        record.HasError = request.Error is not null;
        record.Error = request.Error.GetValueOrDefault();
        record.SetAddress(address);
        record.NameLength = (byte)AccessLogRecord.Copy(name, record.Name);
        record.MethodLength = (byte)AccessLogRecord.Copy(method, record.Method);
        record.RequestIdLength = (byte)AccessLogRecord.Copy(requestId, record.RequestId);
        record.ForwardedForLength = (byte)AccessLogRecord.Copy(forwardedFor, record.ForwardedFor);
        record.PathLength = (short)AccessLogRecord.Copy(path, record.Path);
        record.IsPathCut = record.PathLength < path.Length;
        ring.Publish(position);
        _writer!.Published();
    }

    /// <summary>Writes the waiting records, for a short time at most.</summary>
    public void Dispose() => _writer?.Dispose();

    private bool IsSampled() => _sampleBelow == ulong.MaxValue || (ulong)Random.Shared.NextInt64() << 1 < _sampleBelow;

    private static IAccessLogSink CreateSink(AccessLogSettings settings) => settings.FilePath is null
        ? new StreamAccessLogSink(Console.OpenStandardOutput())
        : new RotatingFileSink(settings.FilePath, settings.MaxFileBytes, settings.MaxFiles);

    private static IAccessLogFormatter CreateFormatter(AccessLogSettings settings) => settings.Format == AccessLogFormat.Json
        ? new JsonAccessLogFormatter(settings.Mode == AccessLogMode.Sampled ? settings.SampleRate : null)
        : new TextAccessLogFormatter();
}
