using System.Buffers;
using System.Text.Json;
using Microsoft.AspNetCore.WebUtilities;
using Microsoft.Net.Http.Headers;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>Errors of the API as <c>application/problem+json</c> (RFC 9457). Stateless.</summary>
internal static class AdminProblem
{
    /// <summary>The media type.</summary>
    public const string MediaType = "application/problem+json";

    /// <summary>The same as a field's value.</summary>
    public const string ContentType = MediaType + "; charset=utf-8";

    /// <summary>The begin of paths whose errors have this form.</summary>
    public const string Path = "/api/";

    /// <summary>The body.</summary>
    /// <param name="status">The status.</param>
    /// <param name="code">The stable name of the error.</param>
    /// <param name="detail">A sentence for people, without secrets.</param>
    /// <param name="mistakes">All that is wrong, where it can be more than one thing.</param>
    public static ReadOnlyMemory<byte> Render(int status, string code, string detail, IReadOnlyList<string>? mistakes = null)
    {
        var buffer = new ArrayBufferWriter<byte>(256);
        using (var json = new Utf8JsonWriter(buffer))
        {
            json.WriteStartObject();
            json.WriteString("type"u8, "urn:tunnel2:api:" + code);
            json.WriteString("title"u8, ReasonPhrases.GetReasonPhrase(status));
            json.WriteNumber("status"u8, status);
            json.WriteString("detail"u8, detail);
            json.WriteString("code"u8, code);
            if (mistakes is not null)
            {
                json.WriteStartArray("mistakes"u8);
                foreach (var mistake in mistakes)
                {
                    json.WriteStringValue(mistake);
                }

                json.WriteEndArray();
            }

            json.WriteEndObject();
        }

        return buffer.WrittenMemory;
    }

    /// <summary>Writes it as the answer.</summary>
    public static Task WriteAsync(HttpContext http, int status, string code, string detail)
    {
        var body = Render(status, code, detail);
        var response = http.Response;
        response.StatusCode = status;
        response.ContentType = ContentType;
        response.ContentLength = body.Length;
        response.Headers[HeaderNames.CacheControl] = "no-store";
        response.Headers[HeaderNames.XContentTypeOptions] = "nosniff";
        return HttpMethods.IsHead(http.Request.Method) ? Task.CompletedTask : response.Body.WriteAsync(body, http.RequestAborted).AsTask();
    }
}
