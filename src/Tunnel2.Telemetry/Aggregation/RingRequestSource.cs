using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Requests from an event ring, live or recorded. Aggregation uses the ring only here. Gaps are counted. Not thread-safe.
/// </summary>
internal sealed class RingRequestSource : IRecordSource<RequestSample>
{
    private static readonly long _unixEpochMicroseconds = DateTimeOffset.UnixEpoch.Ticks / TimeSpan.TicksPerMicrosecond;

    private readonly EventRingReader _reader;
    private readonly RingBatch _batch;
    private readonly RequestSample[] _samples;
    private readonly long _end;
    private readonly CancellationToken _stop;
    private readonly TimeProvider _time;
    private readonly IRecordObserver? _observer;
    private long? _idleAt;

    /// <param name="ring">The ring.</param>
    /// <param name="reader">A reader of it; only this source uses it from now on.</param>
    /// <param name="intake">Decodes and counts.</param>
    /// <param name="batchSize">Number of records in a batch.</param>
    /// <param name="end">The sequence number at which a recorded ring ends; <see cref="long.MaxValue"/> to follow a live one.</param>
    /// <param name="observer">Also sees every record that was taken; may be null.</param>
    /// <param name="stop">Ends a live source at its next pause.</param>
    internal RingRequestSource(
        SharedEventRing ring, EventRingReader reader, RequestIntake intake, int batchSize, long end,
        IRecordObserver? observer = null, CancellationToken stop = default)
    {
        _reader = reader;
        _time = ring.Options.Time;
        Intake = intake;
        _batch = new RingBatch(batchSize, ring.MaxPayload);
        _samples = new RequestSample[batchSize];
        _end = end;
        _observer = observer;
        _stop = stop;
    }

    internal RequestIntake Intake { get; }

    /// <summary>Records that the ring no longer had, or that were damaged.</summary>
    internal long Missed => _reader.Missed;

    public long Watermark => Intake.Watermark;

    public bool TryRead(out ReadOnlySpan<RequestSample> batch)
    {
        batch = default;
        if (_reader.Cursor >= _end || _stop.IsCancellationRequested)
        {
            return false;
        }

        RingReadStatus status = _reader.TryReadBatch(_batch, out _);
        if (status == RingReadStatus.Empty)
        {
            if (_idleAt is { } idleAt)
            {
                _idleAt = null;
                Intake.AdvanceTo(idleAt);
                return true;
            }

            bool waited = _reader.Wait(TimeSpan.FromMilliseconds(100), _stop);
            if (!waited && _end == long.MaxValue)
            {
                // No record has arrived, so the clock closes windows. The records' times come from the same clock. The ring is read once
                // more first: this thread may have been interrupted before it read the clock, and what came in that time is not late.
                _idleAt = (_time.GetUtcNow().Ticks / TimeSpan.TicksPerMicrosecond) - _unixEpochMicroseconds;
            }

            return true;
        }

        _idleAt = null;
        if (status != RingReadStatus.Record)
        {
            return status != RingReadStatus.Closed;
        }

        int count = 0;
        foreach (ref readonly RingEntry entry in _batch.Entries)
        {
            if (entry.Sequence >= _end)
            {
                break;
            }

            if (Intake.TryTake(entry.Type, _batch.Payload(entry), out RequestSample sample))
            {
                _samples[count++] = sample;
                _observer?.OnRecord(entry.Sequence, sample.Key, _batch.Payload(entry));
            }
        }

        batch = _samples.AsSpan(0, count);
        return true;
    }
}
