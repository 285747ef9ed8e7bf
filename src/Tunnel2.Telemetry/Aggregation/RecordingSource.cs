using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Requests from a recording. Not thread-safe.</summary>
internal sealed class RecordingSource : IRecordSource<RequestSample>, IEventRelaySink
{
    private readonly RecordingReader _reader;
    private RequestSample[] _samples = new RequestSample[1024];
    private int _count;

    /// <param name="reader">The recording; only this source uses it from now on.</param>
    /// <param name="intake">Decodes and counts.</param>
    internal RecordingSource(RecordingReader reader, RequestIntake intake)
    {
        _reader = reader;
        Intake = intake;
    }

    internal RequestIntake Intake { get; }

    /// <summary>Records that were missed when the recording was made.</summary>
    internal long Missed { get; private set; }

    /// <inheritdoc/>
    public long Watermark => Intake.Watermark;

    /// <inheritdoc/>
    public bool TryRead(out ReadOnlySpan<RequestSample> batch)
    {
        _count = 0;
        bool more = _reader.TryRead(this);
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
        }
    }

    void IEventRelaySink.OnGap(RingGap gap) => Missed += gap.Count;

    void IEventRelaySink.OnSlowWarning(long behind, long limit)
    {
        // A recording has no such message.
    }
}
