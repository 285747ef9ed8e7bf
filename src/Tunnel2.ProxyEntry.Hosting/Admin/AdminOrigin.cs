using Microsoft.Net.Http.Headers;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>Whether a browser sends a request for another page: there is no CORS, and such a page may change nothing. Stateless.</summary>
internal static class AdminOrigin
{
    /// <summary>What such a request gets.</summary>
    public const string Text = "A page of another origin may not do this.";

    /// <summary>Whether a request comes from a page of another origin, or is marked as coming from another site.</summary>
    public static bool IsOfAnotherPage(HttpRequest request)
    {
        string? origin = request.Headers[HeaderNames.Origin];
        string? site = request.Headers["Sec-Fetch-Site"];
        return (origin is not null
                && !origin.Equals("http://" + request.Host.Value, StringComparison.OrdinalIgnoreCase)
                && !origin.Equals("https://" + request.Host.Value, StringComparison.OrdinalIgnoreCase))
            || site is not (null or "same-origin" or "none");
    }
}
