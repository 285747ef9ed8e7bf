using System.Buffers;
using System.Text;
using System.Text.Json;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Live;

/// <summary>
/// One JSON object per line: <c>request</c>, <c>gap</c>, and <c>end</c> as the last one. docs/live.md describes the members.
/// </summary>
internal sealed class JsonRecordFormatter : IRecordFormatter, IDisposable
{
    private readonly ArrayBufferWriter<byte> _buffer = new();
    private readonly Utf8JsonWriter _json;

    public JsonRecordFormatter() => _json = new Utf8JsonWriter(_buffer);

    /// <inheritdoc/>
    public string? Node { get; set; }

    /// <inheritdoc/>
    public void Write(TextWriter output, long sequence, in RequestRecord record)
    {
        _json.WriteStartObject();
        _json.WriteString("type", "request");
        _json.WriteNumber("sequence", sequence);
        WriteNode();
        RecordJson.WriteMembers(_json, record);
        _json.WriteEndObject();
        WriteLine(output);
    }

    /// <inheritdoc/>
    public void Write(TextWriter output, in RingGap gap)
    {
        _json.WriteStartObject();
        _json.WriteString("type", "gap");
        WriteNode();
        _json.WriteNumber("first", gap.First);
        _json.WriteNumber("count", gap.Count);
        _json.WriteString("reason", HumanRecordFormatter.Reason(gap.Reason));
        _json.WriteEndObject();
        WriteLine(output);
    }

    /// <inheritdoc/>
    public void WriteLost(TextWriter output, long messages)
    {
        _json.WriteStartObject();
        _json.WriteString("type", "lost");
        WriteNode();
        _json.WriteNumber("messages", messages);
        _json.WriteEndObject();
        WriteLine(output);
    }

    /// <inheritdoc/>
    public void WriteEnd(TextWriter output, TapCounts counts)
    {
        _json.WriteStartObject();
        _json.WriteString("type", "end");
        _json.WriteNumber("seen", counts.Seen);
        _json.WriteNumber("shown", counts.Shown);
        _json.WriteNumber("missed", counts.Missed);
        _json.WriteNumber("unreadable", counts.Unreadable);
        _json.WriteNumber("replaced", counts.Replaced);
        if (counts.LostMessages > 0)
        {
            _json.WriteNumber("lostMessages", counts.LostMessages);
        }

        _json.WriteEndObject();
        WriteLine(output);
    }

    public void Dispose() => _json.Dispose();

    private void WriteNode()
    {
        if (Node is not null)
        {
            _json.WriteString("node", Node);
        }
    }

    private void WriteLine(TextWriter output)
    {
        _json.Flush();
        output.WriteLine(Encoding.UTF8.GetString(_buffer.WrittenSpan));
        _buffer.ResetWrittenCount();
        _json.Reset();
    }
}
