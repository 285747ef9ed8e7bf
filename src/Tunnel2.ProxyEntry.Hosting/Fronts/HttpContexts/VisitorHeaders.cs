using System.Text;
using Microsoft.Extensions.Primitives;
using Tunnel2.Http1;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// The fields of an HTTP/2 request as HttpContext gives them. They are checked once, against the same limits as in the HTTP/1.1 front, and
/// written into the request block by the rules of <see cref="FieldTable"/>. Kestrel's own limits are above ours, so that the visitor gets
/// our answer. It serves one request at a time, and is reused.
/// </summary>
internal sealed class VisitorHeaders
{
    /// <summary>Longer than any known name.</summary>
    private const int LongestKnown = 32;

    private const int UsualFields = 32;

    /// <summary>What HTTP/1.1 adds to name and value: a colon, a space and the end of the line.</summary>
    private const int LineOverhead = 4;

    /// <summary>What the request line of HTTP/1.1 adds to method and target.</summary>
    private const int LineBytes = 10; // two spaces and HTTP/1.1

    /// <summary>The ends of the request line and of the head.</summary>
    private const int EndBytes = 4;

    private Header[] _headers = new Header[UsualFields];
    private int _count;

    /// <summary>Whether the visitor waits for <c>100 Continue</c> before it sends a body.</summary>
    public bool ExpectsContinue { get; private set; }

    /// <summary>The length of the head as HTTP/1.1 would have it, in bytes; 0 once its fields are released.</summary>
    public long Size { get; private set; }

    /// <summary>Reads the fields of a request.</summary>
    /// <param name="headers">The fields.</param>
    /// <param name="method">The request's method.</param>
    /// <param name="target">The request's target.</param>
    /// <param name="settings">The limits.</param>
    /// <returns>The fault of the request, or null.</returns>
    public ProxyError? Read(IHeaderDictionary headers, string method, string target, ProxyEntrySettings settings)
    {
        Forget();

        if (method.Length + target.Length + LineBytes > settings.MaxRequestLineBytes)
        {
            return ProxyError.RequestTargetTooLong;
        }

        var size = (long)method.Length + target.Length + LineBytes + EndBytes;
        var fields = 0;
        var fault = method.Length <= Http1Limits.Default.MaxMethodBytes && FieldText.IsTarget(target)
            ? (ProxyError?)null
            : ProxyError.BadRequest;
        foreach (var (name, values) in headers)
        {
            if (name.Length > 0 && name[0] == ':')
            {
                continue;
            }

            fields += values.Count;
            var known = Classify(name);
            var rule = FieldRules.OfHttp2Request(known);
            var isValid = FieldText.IsToken(name) && rule != FieldRule.Refuse;
            var joined = known == KnownField.Cookie ? WithoutLastSpace(values) : values;
            foreach (var value in joined)
            {
                var text = value ?? "";
                size += name.Length + text.Length + LineOverhead;
                isValid &= IsValue(text) && (rule != FieldRule.Trailers || IsTrailers(text));
                ExpectsContinue |= known == KnownField.Expect && text.Equals("100-continue", StringComparison.OrdinalIgnoreCase);
            }

            if (!isValid)
            {
                fault ??= ProxyError.BadRequest;
            }

            Add(new Header(name, joined, known));
        }

        Size = size;
        return size > settings.MaxRequestHeadBytes || fields > ProtocolLimits.MaxHeaderFields ? ProxyError.RequestHeadTooLarge : fault;
    }

    /// <summary>Writes all fields that may pass, and keeps a trusted proxy's forwarding fields.</summary>
    /// <param name="writer">The writer, in whose block the fields come next.</param>
    /// <param name="forwarding">Keeps the forwarding fields, which are written after the others.</param>
    /// <param name="extras">What ProxyEntry adds, or null.</param>
    /// <param name="toNode">Whether the cookies of sign-ins are written too: another node reads them.</param>
    public void Write(ref HeaderBlockWriter writer, ForwardingFields forwarding, ExchangeExtras? extras, bool toNode)
    {
        forwarding.Begin();
        var edits = extras?.RequestEdits;
        foreach (ref readonly var header in _headers.AsSpan(0, _count))
        {
            switch (FieldRules.OfHttp2Request(header.Known))
            {
                // HTTP/2 has no Connection field that could list other fields.
                case FieldRule.Pass:
                case FieldRule.Keep:
                case FieldRule.TrustedForwarding when forwarding.IsTrusted:
                case FieldRule.Credentials when extras is null || !extras.HasUsedCredentials:
                case FieldRule.Trace when extras is null || !extras.Replaces(header.Known):
                    break;
                case FieldRule.Forwarding:
                    foreach (var value in header.Values)
                    {
                        forwarding.Keep(header.Known, value ?? "");
                    }

                    continue;
                case FieldRule.Trailers:
                    writer.AddField(header.Name, "trailers");
                    continue;
                default:
                    continue;
            }

            if (edits is not null && edits.Drops(header.Name))
            {
                continue;
            }

            foreach (var value in header.Values)
            {
                if (header.Known == KnownField.Cookie && !toNode && value is not null && SignInCookie.MayBeIn(value))
                {
                    SignInCookie.WriteOthers(
                        ref writer, Encoding.Latin1.GetBytes(header.Name), Encoding.Latin1.GetBytes(value));
                    continue;
                }

                if (header.Known == KnownField.Trailer && edits is not null)
                {
                    ReadOnlySpan<byte> names = Encoding.Latin1.GetBytes(value ?? "");
                    if (!edits.Drops(header.Known, "trailer"u8, ref names))
                    {
                        writer.AddField(header.Name, Encoding.Latin1.GetString(names));
                    }

                    continue;
                }

                writer.AddField(header.Name, value ?? "");
            }
        }
    }

    /// <summary>Writes the trailers that may pass.</summary>
    /// <param name="writer">The writer.</param>
    /// <param name="trailers">The trailers.</param>
    /// <param name="edits">What a policy does with fields: what it sets or removes must not come in a trailer.</param>
    /// <returns>False when one of them breaks a rule.</returns>
    public static bool TryWriteTrailers(ref HeaderBlockWriter writer, IHeaderDictionary trailers, FieldEdits? edits)
    {
        Span<byte> bytes = stackalloc byte[LongestKnown];
        foreach (var (name, values) in trailers)
        {
            if (!FieldText.IsToken(name))
            {
                return false;
            }

            var start = Start(name, bytes);
            var rule = FieldRules.OfHttp2Trailer(KnownFields.Classify(start), start);
            if (rule == FieldRule.Refuse)
            {
                return false;
            }

            foreach (var value in values)
            {
                if (!IsValue(value ?? ""))
                {
                    return false;
                }

                if (rule == FieldRule.Pass && edits?.Drops(name) != true)
                {
                    writer.AddField(name, value ?? "");
                }
            }
        }

        return true;
    }

    /// <summary>
    /// Releases the fields, one by one: Kestrel keeps the values of those that it clears together, for the next request of the stream's
    /// object.
    /// </summary>
    /// <param name="headers">Kestrel's.</param>
    public void Release(IHeaderDictionary headers)
    {
        foreach (var name in headers.Keys.ToArray())
        {
            headers.Remove(name);
        }

        Forget();
    }

    /// <summary>Forgets the fields, without touching those of Kestrel.</summary>
    private void Forget()
    {
        if (_headers.Length > UsualFields)
        {
            // Larger than usual: it is not kept for the next request.
            _headers = new Header[UsualFields];
        }
        else
        {
            Array.Clear(_headers, 0, _count);
        }

        _count = 0;
        Size = 0;
        ExpectsContinue = false;
    }

    /// <summary>RFC 9113 section 8.2.1: no control characters, and no white space around it.</summary>
    private static bool IsValue(string value) => FieldText.IsValue(value) && !FieldText.IsPadded(value);

    /// <summary>
    /// Kestrel joins the pieces of a cookie by a semicolon and a space (RFC 9113 section 8.2.3). Where the last piece is empty, the space
    /// is at the end: it is no part of the value, in no version of HTTP.
    /// </summary>
    private static StringValues WithoutLastSpace(StringValues cookie) =>
        cookie.Count == 1 && cookie[0] is { } text && text.EndsWith("; ", StringComparison.Ordinal) ? text[..^1] : cookie;

    /// <summary>RFC 9113 section 8.2.2: TE has no other value there.</summary>
    private static bool IsTrailers(string te) => te.Equals("trailers", StringComparison.OrdinalIgnoreCase);

    private static KnownField Classify(string name) => KnownFields.Classify(Start(name, stackalloc byte[LongestKnown]));

    /// <summary>The part of a name that decides which field it is.</summary>
    private static Span<byte> Start(string name, Span<byte> bytes) =>
        bytes[..Encoding.Latin1.GetBytes(name.AsSpan(0, Math.Min(name.Length, LongestKnown)), bytes)];

    private void Add(in Header header)
    {
        if (_count == _headers.Length)
        {
            Array.Resize(ref _headers, _count * 2);
        }

        _headers[_count++] = header;
    }

    private readonly record struct Header(string Name, StringValues Values, KnownField Known);
}
