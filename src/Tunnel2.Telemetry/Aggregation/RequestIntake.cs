using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Prepares raw records for aggregation: decodes them, numbers their sessions, and counts and drops late and bad ones. Not thread-safe.
/// </summary>
internal sealed class RequestIntake
{
    private readonly WatermarkFilter _filter;

    internal RequestIntake(WatermarkFilter filter)
    {
        _filter = filter;
    }

    internal SessionKeyTable Sessions { get; } = new();

    internal DeadLetterCounters DeadLetters { get; } = new();

    /// <summary>Records that arrived too late for their window.</summary>
    internal long Late => _filter.Late;

    internal long Watermark => _filter.Watermark;

    /// <summary>See <see cref="WatermarkFilter.AdvanceTo"/>.</summary>
    internal void AdvanceTo(long eventTime) => _filter.AdvanceTo(eventTime);

    /// <summary>
    /// False when the record was dropped and counted as bad or late. An interim record of an upgraded connection adds its bytes, and does
    /// not count as a request.
    /// </summary>
    internal bool TryTake(ushort type, ReadOnlySpan<byte> payload, out RequestSample sample)
    {
        sample = default;
        if (type != (ushort)RecordType.Request)
        {
            DeadLetters.Add(RecordDecodeStatus.WrongType);
            return false;
        }

        RecordDecodeStatus status = RequestRecordCodec.Decode(payload, out RequestRecord record);
        if (status != RecordDecodeStatus.Ok)
        {
            DeadLetters.Add(status);
            return false;
        }

        long ended = record.StartedUnixMicroseconds + record.TotalMicroseconds;
        if (!_filter.Admit(ended))
        {
            return false;
        }

        ushort error = record.ErrorCode == RequestErrorCodes.None && record.Status >= 500 ? RequestErrorCodes.BackendStatus
            : record.ErrorCode;
        sample = new RequestSample(
            ended, Sessions.GetOrAdd(record.SessionName), record.TotalMicroseconds, record.BytesIn, record.BytesOut, error,
            (record.Flags & RequestFlags.Interim) != 0 ? (ushort)0 : (ushort)1);
        return true;
    }
}
