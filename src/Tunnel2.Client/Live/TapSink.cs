using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Client.Live;

/// <summary>Handles the records of a tap from any source: counts, filters, shows and records them. Not thread-safe.</summary>
internal sealed class TapSink : IEventRelaySink
{
    private readonly RecordFilter _filter;
    private readonly IRecordFormatter _formatter;
    private readonly TextWriter _output;
    private readonly TextWriter _notes;
    private readonly RecordingWriter? _recording;

    public TapSink(RecordFilter filter, IRecordFormatter formatter, TextWriter output, TextWriter notes, RecordingWriter? recording)
    {
        _filter = filter;
        _formatter = formatter;
        _output = output;
        _notes = notes;
        _recording = recording;
    }

    public TapCounts Counts { get; } = new();

    /// <summary>The node of the next records, where there are several; otherwise null.</summary>
    public string? Node
    {
        get => _formatter.Node;
        set => _formatter.Node = value;
    }

    /// <inheritdoc/>
    public void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload)
    {
        Counts.Seen++;
        if (type != (ushort)RecordType.Request || RequestRecordCodec.Decode(payload, out RequestRecord record) != RecordDecodeStatus.Ok)
        {
            Counts.Unreadable++;
            return;
        }

        if (!_filter.Wants(record))
        {
            return;
        }

        Counts.Shown++;
        _recording?.Add(sequence, type, payload);
        _formatter.Write(_output, sequence, record);
    }

    /// <inheritdoc/>
    public void OnGap(RingGap gap)
    {
        Counts.Missed += gap.Count;
        Counts.Replaced += gap.Reason == RingGapReason.NewRing ? 1 : 0;
        _recording?.Add(gap);
        _formatter.Write(_output, gap);
    }

    /// <summary>Messages did not come, of one node or of any; how many records they had is unknown.</summary>
    public void OnLost(string? node, long messages)
    {
        Counts.LostMessages += messages;
        Node = node;
        _formatter.WriteLost(_output, messages);
    }

    /// <inheritdoc/>
    public void OnSlowWarning(long behind, long limit) =>
        _notes.WriteLine($"tunnel2: too slow for the relay: {behind} bytes behind, and at {limit} it closes the connection");

    /// <summary>Flushes the output, because no more records are at hand.</summary>
    /// <exception cref="IOException">The output's reader has left, or the recording's disk is full.</exception>
    public void Flush()
    {
        _recording?.Flush();
        _output.Flush();
    }

    /// <summary>Writes the totals.</summary>
    public void End()
    {
        _formatter.WriteEnd(_output, Counts);
        Flush();
    }
}
