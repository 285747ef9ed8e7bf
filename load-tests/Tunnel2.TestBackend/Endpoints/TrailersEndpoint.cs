using System.Text;
using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/trailers?name=value</c>: a body, then those fields as trailers.</summary>
internal static class TrailersEndpoint
{
    private static readonly KeyValuePair<string, string>[] _default = [new("X-Trailer", "after the body")];

    public static async Task HandleAsync(HttpContext context)
    {
        KeyValuePair<string, string>[] trailers = [.. context.Request.QueryPairs()];
        trailers = trailers.Length > 0 ? trailers : _default;
        var response = context.Response;
        response.ContentType = "text/plain";
        response.Headers.Trailer = string.Join(", ", trailers.Select(trailer => trailer.Key).Distinct(StringComparer.OrdinalIgnoreCase));

        if (context.Features.Get<IHttpResponseTrailersFeature>() is { } feature)
        {
            await response.BodyWriter.WriteAsync("body\n"u8.ToArray());
            await response.BodyWriter.FlushAsync();
            foreach (var (name, value) in trailers)
            {
                feature.Trailers.Append(name, value);
            }

            return;
        }

        // Kestrel has no trailers on HTTP/1.1, but leaves the chunks to a handler that declares the coding itself.
        response.Headers.TransferEncoding = "chunked";
        var text = new StringBuilder("5\r\nbody\n\r\n0\r\n");
        foreach (var (name, value) in trailers)
        {
            text.Append(name).Append(": ").Append(value).Append("\r\n");
        }

        text.Append("\r\n");
        await response.BodyWriter.WriteAsync(Encoding.Latin1.GetBytes(text.ToString()));
    }
}
