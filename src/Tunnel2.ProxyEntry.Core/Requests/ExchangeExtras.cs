using System.Collections.Immutable;
using Tunnel2.Http1;
using Tunnel2.Policies.Tables;
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

    /// <summary>The request field in which the service learns who has logged in.</summary>
    public static ReadOnlySpan<byte> UserField => "X-Tunnel2-User"u8;

    private readonly byte[] _traceParent = new byte[TraceParentLength];
    private byte[] _lines = new byte[192];
    private int _length;
    private byte[]? _user;
    private FieldEdits? _requestEdits;
    private FieldEdits? _responseEdits;

    /// <summary>Whether the trace continues through the tunnel, so the request's own <c>traceparent</c> is replaced.</summary>
    public bool HasTraceParent { get; private set; }

    /// <summary>Whether <c>tracestate</c> is left out, because no valid <c>traceparent</c> says which trace it belongs to.</summary>
    public bool DropsTraceState { get; set; }

    /// <summary>Whether the agent is asked for its timings.</summary>
    public bool AsksForTiming { get; set; }

    /// <summary>Whether the visitor has logged in with its <c>Authorization</c>, which then does not reach the service.</summary>
    public bool HasUsedCredentials { get; private set; }

    /// <summary>What a policy does with the fields of the request; null: nothing.</summary>
    public FieldEdits? RequestEdits => _requestEdits is { IsEmpty: false } edits ? edits : null;

    /// <summary>What a policy does with the fields of the service's response; null: nothing.</summary>
    public FieldEdits? ResponseEdits => _responseEdits is { IsEmpty: false } edits ? edits : null;

    /// <summary>The lines to add to the response's head, each with its CR LF.</summary>
    public ReadOnlySpan<byte> ResponseLines => _lines.AsSpan(0, _length);

    /// <summary>Removes all additions.</summary>
    public void Reset()
    {
        HasTraceParent = false;
        DropsTraceState = false;
        AsksForTiming = false;
        _user = null;
        HasUsedCredentials = false;
        _length = 0;
        ForgetEdits();
    }

    /// <summary>Adds what a row of a policy does with fields.</summary>
    public void AddEdits(ImmutableArray<FieldEdit> request, ImmutableArray<FieldEdit> response)
    {
        (_requestEdits ??= new FieldEdits()).Add(request);
        (_responseEdits ??= new FieldEdits()).Add(response);
    }

    /// <summary>Removes what rows do with fields.</summary>
    public void ForgetEdits()
    {
        _requestEdits?.Clear();
        _responseEdits?.Clear();
    }

    /// <summary>The request continues with a new <c>traceparent</c>: the caller writes its 55 bytes.</summary>
    public Span<byte> SetTraceParent()
    {
        HasTraceParent = true;
        return _traceParent;
    }

    /// <summary>It is known who the visitor is.</summary>
    /// <param name="user">The user's name: ASCII that can be a field's value. It is kept, not copied.</param>
    /// <param name="usesCredentials">Whether <c>Authorization</c> was for ProxyEntry alone, and must not reach the service.</param>
    public void SetUser(byte[] user, bool usesCredentials)
    {
        _user = user;
        HasUsedCredentials = usesCredentials;
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

        if (_user is not null)
        {
            writer.AddField(UserField, _user);
        }

        if (AsksForTiming)
        {
            writer.AddField(TimingField, "1"u8);
        }

        if (RequestEdits is { } edits)
        {
            for (var i = 0; i < edits.Count; i++)
            {
                if (edits.LineAt(i) is { } line)
                {
                    writer.AddField(line.NameBytes, line.ValueBytes);
                }
            }
        }
    }

    private void Append(ReadOnlySpan<byte> part)
    {
        part.CopyTo(_lines.AsSpan(_length));
        _length += part.Length;
    }
}
