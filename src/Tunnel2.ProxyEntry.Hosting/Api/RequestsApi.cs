using System.Text;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// The last requests of a session that the ring of the live plane still has. A call reads the ring once, beside its other readers, and
/// costs requests nothing. Thread-safe.
/// </summary>
internal sealed class RequestsApi(LivePlane live, SessionsApi sessions) : IDisposable
{
    /// <summary>How many a list has where the call does not say.</summary>
    public const int UsuallyListed = 20;

    private const int MostListed = 100;
    private const int BatchSize = 256;

    private readonly Lock _gate = new(); // One reading at a time, which takes milliseconds.
    private bool _isClosed;

    /// <summary>The last requests of a session.</summary>
    public ValueTask<ApiAnswer> ListAsync(ApiCall call) => ValueTask.FromResult(List(call));

    /// <summary>Waits for a reading: after it the ring is no longer there.</summary>
    public void Dispose()
    {
        lock (_gate)
        {
            _isClosed = true;
        }
    }

    private ApiAnswer List(ApiCall call)
    {
        if (call.Number("limit", UsuallyListed, MostListed, out var limit) is { } problem)
        {
            return problem;
        }

        if (sessions.Find(call.Name) is not { } session)
        {
            return SessionsApi.NoSession;
        }

        lock (_gate)
        {
            return live.Ring is { } ring && !_isClosed
                ? ApiAnswer.Of(new RequestList { Requests = Read(ring, session, limit) })
                : ApiAnswer.Problem(
                    StatusCodes.Status503ServiceUnavailable,
                    "live-off",
                    "The live view is off (Tunnel2:Live) or could not be started; the log says why.");
        }
    }

    private static List<RequestInfo> Read(SharedEventRing ring, EntrySession session, int limit)
    {
        var head = Volatile.Read(ref ring.Head);
        using var reader = ring.CreateReader(new EventRingReaderOptions { From = Math.Max(0, head - ring.Capacity), SpinBeforeSleep = 0 });
        var batch = new RingBatch(BatchSize, ring.MaxPayload);
        var last = new Queue<RequestInfo>(limit);
        while (reader.Cursor < head && reader.TryReadBatch(batch, out _) is RingReadStatus.Record or RingReadStatus.Gap)
        {
            foreach (ref readonly var entry in batch.Entries)
            {
                // A report of an open connection is no request.
                if (RequestRecordCodec.Decode(batch.Payload(entry), out var record) != RecordDecodeStatus.Ok
                    || (record.Flags & RequestFlags.Interim) != 0
                    || !record.SessionName.SequenceEqual(session.NameBytes))
                {
                    continue;
                }

                if (last.Count == limit)
                {
                    last.Dequeue();
                }

                last.Enqueue(Describe(record));
            }
        }

        return [.. last.Reverse()];
    }

    private static RequestInfo Describe(in RequestRecord record) => new()
    {
        StartedAt = DateTimeOffset.UnixEpoch + TimeSpan.FromMicroseconds(record.StartedUnixMicroseconds),
        Method = RequestMethods.Name(record.Method),
        Target = Encoding.Latin1.GetString(record.Target),
        TargetTruncated = (record.Flags & RequestFlags.TargetTruncated) != 0,
        Status = record.Status,
        Error = RequestErrorCodes.Name(record.ErrorCode),
        QueueUs = record.QueueMicroseconds,
        FirstByteUs = record.FirstByteMicroseconds,
        TotalUs = record.TotalMicroseconds,
        BytesIn = (long)Math.Min(record.BytesIn, long.MaxValue),
        BytesOut = (long)Math.Min(record.BytesOut, long.MaxValue),
        Upgraded = (record.Flags & RequestFlags.Upgraded) != 0,
    };
}
