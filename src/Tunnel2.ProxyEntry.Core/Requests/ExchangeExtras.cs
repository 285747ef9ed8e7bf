using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What ProxyEntry itself adds to a request and its response, apart from the forwarding fields: trace context, timings, the rest of a
/// limit. Most exchanges have none. It serves one request at a time, and is reused.
/// </summary>
internal sealed class ExchangeExtras
{
    /// <summary>
    /// The request field that asks the agent for its timings, and the response field that carries them. Neither reaches backend or visitor.
    /// </summary>
    public static ReadOnlySpan<byte> TimingField => "Tunnel2-Timing"u8;

    private const int TraceParentLength = 55;

    private readonly byte[] _traceParent = new byte[TraceParentLength];
    private byte[] _lines = new byte[192];
    private int _length;

    /// <summary>Whether the trace continues through the tunnel, so the request's own <c>traceparent</c> is replaced.</summary>
    public bool HasTraceParent { get; private set; }

    /// <summary>Whether <c>tracestate</c> is left out, because no valid <c>traceparent</c> says which trace it belongs to.</summary>
    public bool DropsTraceState { get; set; }

    /// <summary>Whether the agent is asked for its timings.</summary>
    public bool AsksForTiming { get; set; }

    /// <summary>The lines to add to the response's head, each with its CR LF.</summary>
    public ReadOnlySpan<byte> ResponseLines => _lines.AsSpan(0, _length);

    /// <summary>Removes all additions.</summary>
    public void Reset()
    {
        HasTraceParent = false;
        DropsTraceState = false;
        AsksForTiming = false;
        _length = 0;
    }

    /// <summary>The request continues with a new <c>traceparent</c>: the caller writes its 55 bytes.</summary>
    public Span<byte> SetTraceParent()
    {
        HasTraceParent = true;
        return _traceParent;
    }

    /// <summary>Adds a field to the response.</summary>
    /// <param name="name">Its name: a token.</param>
    /// <param name="value">Its value: ASCII, made by ProxyEntry.</param>
    public void AddResponseField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        var needed = _length + name.Length + value.Length + 4;
        if (needed > _lines.Length)
        {
            Array.Resize(ref _lines, Math.Max(needed, _lines.Length * 2));
        }

        Append(name);
        Append(": "u8);
        Append(value);
        Append("\r\n"u8);
    }

    /// <summary>Whether an added field replaces a field of the visitor.</summary>
    /// <param name="known">A field whose rule is <see cref="FieldRule.Trace"/>.</param>
    public bool Replaces(KnownField known) => known == KnownField.TraceParent ? HasTraceParent : DropsTraceState;

    /// <summary>Writes the request fields that are added.</summary>
    public void WriteRequestFields(ref HeaderBlockWriter writer)
    {
        if (HasTraceParent)
        {
            writer.AddField("traceparent"u8, _traceParent);
        }

        if (AsksForTiming)
        {
            writer.AddField(TimingField, "1"u8);
        }
    }

    private void Append(ReadOnlySpan<byte> part)
    {
        part.CopyTo(_lines.AsSpan(_length));
        _length += part.Length;
    }
}
