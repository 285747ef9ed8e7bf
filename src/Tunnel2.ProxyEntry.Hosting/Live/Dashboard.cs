using Microsoft.Net.Http.Headers;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// The page at <c>/</c> of the admin listener. It is static and contains no data, so it needs no token; its data come over <c>/live</c>.
/// </summary>
internal static class Dashboard
{
    private static readonly Lazy<byte[]> _page = new(static () =>
    {
        using var stream = typeof(Dashboard).Assembly.GetManifestResourceStream("dashboard.html")!;
        var page = new byte[stream.Length];
        stream.ReadExactly(page);
        return page;
    });

    public static async Task WriteAsync(HttpContext http)
    {
        var response = http.Response;
        if (!HttpMethods.IsGet(http.Request.Method) && !HttpMethods.IsHead(http.Request.Method))
        {
            response.StatusCode = StatusCodes.Status405MethodNotAllowed;
            response.Headers[HeaderNames.Allow] = "GET, HEAD";
            return;
        }

        response.ContentType = "text/html; charset=utf-8";
        response.ContentLength = _page.Value.Length;
        response.Headers[HeaderNames.CacheControl] = "no-cache";
        response.Headers[HeaderNames.XContentTypeOptions] = "nosniff";
        response.Headers[HeaderNames.ContentSecurityPolicy] =
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; "
                + "base-uri 'none'";
        if (HttpMethods.IsGet(http.Request.Method))
        {
            await response.Body.WriteAsync(_page.Value, http.RequestAborted).ConfigureAwait(false);
        }
    }
}
