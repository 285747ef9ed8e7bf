using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>Writes an agent's response head and trailers to Kestrel's response.</summary>
internal static class ResponseHead
{
    /// <summary>Writes status and fields. Nothing is sent before the first byte of the body, or the end.</summary>
    /// <param name="http">The exchange.</param>
    /// <param name="head">The agent's response.</param>
    /// <param name="connect">The visitor's WebSocket of HTTP/2, if it asked for one.</param>
    /// <param name="extras">What access rules and policies change.</param>
    /// <returns>False when the response must not be passed on: a field of it could be taken for another, or ends a WebSocket.</returns>
    public static bool TryWrite(HttpContext http, scoped in HeaderBlock head, ExtendedConnect? connect, ExchangeExtras? extras)
    {
        var response = http.Response;
        var cache = HeaderStringCache.Shared;
        var headers = response.Headers;
        if (connect is not null && !connect.CanAnswer(head))
        {
            return false;
        }

        var edits = extras?.ResponseEdits;
        foreach (var field in head.Fields)
        {
            if (!FieldSyntax.IsToken(field.Name) || !FieldSyntax.IsFieldValue(field.Value))
            {
                headers.Clear();
                return false;
            }

            var known = KnownFields.Classify(field.Name);
            var value = field.Value;
            if (!FieldRules.PassesInHttp2Response(known, head.Status)
                || (known == KnownField.ContentLength && headers.ContentLength is not null)
                || (connect is not null && ExtendedConnect.EndsHere(known))
                || (edits is not null && edits.Drops(known, field.Name, ref value)))
            {
                continue;
            }

            // Append would drop an empty value.
            var name = cache.Get(field.Name);
            headers[name] = StringValues.Concat(headers[name], cache.Get(value.Trim(" \t"u8)));
        }

        for (var i = 0; i < (edits?.Count ?? 0); i++)
        {
            if (edits!.LineAt(i) is { } line)
            {
                headers.Append(line.Name, line.Value);
            }
        }

        extras?.CopyTo(headers);
        response.StatusCode = connect is null ? head.Status : ExtendedConnect.VisitorStatus(head.Status);
        if (!head.ReasonPhrase.IsEmpty && http.Features.Get<IHttpResponseFeature>() is { } feature)
        {
            var phrase = cache.Get(head.ReasonPhrase);
            if (FieldSyntax.IsFieldValue(head.ReasonPhrase))
            {
                feature.ReasonPhrase = phrase;
            }
        }

        return true;
    }

    /// <summary>Adds trailers, where the visitor's protocol has them.</summary>
    /// <param name="response">The response.</param>
    /// <param name="trailers">The agent's trailers.</param>
    /// <param name="edits">What a policy does with the fields; null: nothing.</param>
    public static void WriteTrailers(HttpResponse response, scoped in HeaderBlock trailers, FieldEdits? edits)
    {
        if (!response.SupportsTrailers())
        {
            return;
        }

        foreach (var field in trailers.Fields)
        {
            if (FieldRules.PassesInTrailers(field.Name, field.Value) && edits?.Drops(field.Name) != true)
            {
                response.AppendTrailer(
                    HeaderStringCache.Shared.Get(field.Name), HeaderStringCache.Shared.Get(field.Value.Trim(" \t"u8)));
            }
        }
    }
}
