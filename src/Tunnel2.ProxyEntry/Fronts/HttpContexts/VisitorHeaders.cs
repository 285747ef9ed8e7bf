using System.Text;
using Microsoft.Extensions.Primitives;
using Tunnel2.Http1;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// A visitor's fields as HttpContext gives them: looked at once, held to the rules and limits of the front for HTTP/1.1, and written into the
/// request block. Kestrel's own limits lie above ours, so that the visitor gets our answer. Used by one request at a time and again by the next.
/// </summary>
internal sealed class VisitorHeaders
{
    /// <summary>Longer than any name that is known.</summary>
    private const int LongestKnown = 32;

    private const int UsualFields = 32;

    /// <summary>What HTTP/1.1 would take beyond name and value: a colon, a space and the end of the line.</summary>
    private const int LineOverhead = 4;

    /// <summary>What the request line of HTTP/1.1 has besides method and target.</summary>
    private const int LineBytes = 10; // two spaces and HTTP/1.1

    /// <summary>The ends of the request line and of the head.</summary>
    private const int EndBytes = 4;

    private Header[] _headers = new Header[UsualFields];
    private int _count;
    private HashSet<string>? _listed;

    /// <summary>Takes up the fields of a request.</summary>
    /// <param name="headers">The fields.</param>
    /// <param name="method">The request's method.</param>
    /// <param name="target">The request's target.</param>
    /// <param name="settings">The limits.</param>
    /// <param name="isHttp2">Whether the rules of HTTP/2 hold.</param>
    /// <returns>What is wrong with the request, or null.</returns>
    public ProxyError? Read(IHeaderDictionary headers, string method, string target, ProxyEntrySettings settings, bool isHttp2)
    {
        Forget();

        if (method.Length + target.Length + LineBytes > settings.MaxRequestLineBytes)
        {
            return ProxyError.RequestTargetTooLong;
        }

        var size = (long)method.Length + target.Length + LineBytes + EndBytes;
        var fields = 0;
        var fault = method.Length <= Http1Limits.Default.MaxMethodBytes && FieldText.IsTarget(target) ? (ProxyError?)null : ProxyError.BadRequest;
        foreach (var (name, values) in headers)
        {
            if (name.Length > 0 && name[0] == ':')
            {
                continue;
            }

            fields += values.Count;
            var known = Classify(name);
            var isValid = FieldText.IsToken(name) && FieldRules.OfRequest(known) != FieldRule.Refuse && !(isHttp2 && IsOfConnection(known));
            foreach (var value in values)
            {
                var text = value ?? "";
                size += name.Length + text.Length + LineOverhead;
                isValid &= FieldText.IsValue(text) && !(isHttp2 && FieldText.IsPadded(text));
            }

            if (!isValid)
            {
                fault ??= ProxyError.BadRequest;
            }

            Add(name, values, known);
        }

        return size > settings.MaxRequestHeadBytes || fields > ProtocolLimits.MaxHeaderFields ? ProxyError.RequestHeadTooLarge : fault;
    }

    /// <summary>Writes all fields that go on: without what is hop-by-hop, and without what is said about forwarding.</summary>
    /// <param name="writer">Where to.</param>
    /// <param name="isTrusted">Whether the peer's forwarding fields are believed, and so kept.</param>
    /// <param name="extras">What ProxyEntry adds, or null.</param>
    public void Write(ref HeaderBlockWriter writer, bool isTrusted, ExchangeExtras? extras)
    {
        foreach (ref readonly var header in _headers.AsSpan(0, _count))
        {
            switch (header.Known)
            {
                case KnownField.Te:
                    if (WantsTrailers(header.Values))
                    {
                        writer.AddField(header.Name, "trailers");
                    }

                    continue;
                case KnownField.XRealIp or KnownField.XForwardedOther when isTrusted:
                    break;
                case var known when KnownFields.IsForwarding(known) || FieldRules.OfRequest(known) != FieldRule.Pass:
                case KnownField.None or KnownField.TraceParent when extras is not null && extras.Replaces(header.Name):
                    continue;
                default:
                    if (_listed is not null && _listed.Contains(header.Name))
                    {
                        continue;
                    }

                    break;
            }

            foreach (var value in header.Values)
            {
                writer.AddField(header.Name, value ?? "");
            }
        }
    }

    /// <summary>Writes the trailers that go on.</summary>
    /// <returns>False when one of them breaks a rule.</returns>
    public bool TryWriteTrailers(ref HeaderBlockWriter writer, IHeaderDictionary trailers)
    {
        Span<byte> bytes = stackalloc byte[LongestKnown];
        foreach (var (name, values) in trailers)
        {
            if (!FieldText.IsToken(name))
            {
                return false;
            }

            var known = Classify(name);
            var rule = FieldRules.OfTrailer(known, bytes[..Encoding.Latin1.GetBytes(name.AsSpan(0, Math.Min(name.Length, LongestKnown)), bytes)]);
            if (rule == FieldRule.Refuse)
            {
                return false;
            }

            foreach (var value in values)
            {
                if (!FieldText.IsValue(value ?? ""))
                {
                    return false;
                }

                if (rule == FieldRule.Pass && _listed?.Contains(name) != true)
                {
                    writer.AddField(name, value ?? "");
                }
            }
        }

        return true;
    }

    /// <summary>Lets go of the fields.</summary>
    public void Forget()
    {
        if (_headers.Length > UsualFields)
        {
            // An unusual request leaves nothing behind.
            _headers = new Header[UsualFields];
        }
        else
        {
            Array.Clear(_headers, 0, _count);
        }

        _count = 0;
        _listed = null;
    }

    /// <summary>RFC 9113 section 8.2.2: HTTP/2 has none of them, and whoever sends one is malformed.</summary>
    private static bool IsOfConnection(KnownField known) =>
        known is KnownField.Connection or KnownField.KeepAlive or KnownField.ProxyConnection or KnownField.TransferEncoding or KnownField.Upgrade;

    private static KnownField Classify(string name)
    {
        Span<byte> bytes = stackalloc byte[LongestKnown];
        return KnownFields.Classify(bytes[..Encoding.Latin1.GetBytes(name.AsSpan(0, Math.Min(name.Length, LongestKnown)), bytes)]);
    }

    private void Add(string name, StringValues values, KnownField known)
    {
        if (_count == _headers.Length)
        {
            Array.Resize(ref _headers, _count * 2);
        }

        _headers[_count++] = new Header(name, values, known);
        if (known == KnownField.Connection)
        {
            ReadConnection(values);
        }
    }

    /// <summary>Whether TE names trailers: of what it can say, that is the one thing that crosses the tunnel.</summary>
    private static bool WantsTrailers(StringValues te)
    {
        foreach (var value in te)
        {
            foreach (var range in value.AsSpan().Split(','))
            {
                if (value.AsSpan(range).Trim(" \t").Equals("trailers", StringComparison.OrdinalIgnoreCase))
                {
                    return true;
                }
            }
        }

        return false;
    }

    /// <summary>
    /// The names that Connection lists beyond its own words. A field that frames or routes the message stays whatever it says: whoever
    /// lists one wants it lost.
    /// </summary>
    private void ReadConnection(StringValues connection)
    {
        if (connection.Count == 1 && connection[0] is "keep-alive" or "close" or "Upgrade" or "upgrade" or "Keep-Alive" or "Close")
        {
            return;
        }

        foreach (var value in connection)
        {
            foreach (var option in (value ?? "").Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
            {
                if (Classify(option) is not (KnownField.Host or KnownField.ContentLength or KnownField.Expect))
                {
                    (_listed ??= new HashSet<string>(StringComparer.OrdinalIgnoreCase)).Add(option);
                }
            }
        }
    }

    private readonly record struct Header(string Name, StringValues Values, KnownField Known);
}
