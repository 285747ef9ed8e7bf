using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Requests from a recording, or from some of its frames. Not thread-safe.</summary>
internal sealed class RecordingSource : IRecordSource<RequestSample>, IEventRelaySink
{
    private readonly RecordingReader _reader;
    private readonly long _end;
    private readonly RecordingProgress? _progress;
    private readonly CancellationToken _stop;
    private RequestSample[] _samples = new RequestSample[1024];
    private int _count;

    /// <param name="reader">The recording; only this source uses it from now on.</param>
    /// <param name="intake">Decodes and counts.</param>
    /// <param name="end">Frames that begin at this byte of the file or after it are not read.</param>
    /// <param name="progress">Adds up what was read; may be null.</param>
    /// <param name="stop">Ends the input before its next frame.</param>
    internal RecordingSource(
        RecordingReader reader, RequestIntake intake, long end = long.MaxValue, RecordingProgress? progress = null,
        CancellationToken stop = default)
    {
        _reader = reader;
        _end = end;
        _progress = progress;
        _stop = stop;
        Intake = intake;
    }

    internal RequestIntake Intake { get; }

    /// <summary>Records that were missed when the recording was made.</summary>
    internal long Missed { get; private set; }

    /// <summary>Event time of the earliest record that was taken in; <see cref="long.MaxValue"/> before the first.</summary>
    internal long Earliest { get; private set; } = long.MaxValue;

    /// <summary>Event time of the latest record that was taken in; <see cref="long.MinValue"/> before the first.</summary>
    internal long Latest { get; private set; } = long.MinValue;

    /// <inheritdoc/>
    public long Watermark => Intake.Watermark;

    /// <inheritdoc/>
    public bool TryRead(out ReadOnlySpan<RequestSample> batch)
    {
        _count = 0;
        long position = _reader.Position;
        bool more = position < _end && !_stop.IsCancellationRequested && _reader.TryRead(this);
        _progress?.Add(_reader.Position - position);
        batch = _samples.AsSpan(0, _count);
        return more || _count > 0;
    }

    void IEventRelaySink.OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload)
    {
        if (_count == _samples.Length)
        {
            Array.Resize(ref _samples, _count * 2);
        }

        if (Intake.TryTake(type, payload, out RequestSample sample))
        {
            _samples[_count++] = sample;
            Earliest = Math.Min(Earliest, sample.EndedUnixMicroseconds);
            Latest = Math.Max(Latest, sample.EndedUnixMicroseconds);
        }
    }

    void IEventRelaySink.OnGap(RingGap gap) => Missed += gap.Count;

    void IEventRelaySink.OnSlowWarning(long behind, long limit)
    {
        // A recording has no such message.
    }
}
