using System.Net;
using System.Text;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Net.Http.Headers;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.WebSockets;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// <c>/live</c> on the admin listener: handles the WebSocket handshake (RFC 6455 section 4.2) and the subscriber's messages. The hub's own
/// thread writes directly to the socket, so that thousands of subscribers never hold an engine thread. Thread-safe.
/// </summary>
internal sealed class LiveEndpoint
{
    /// <summary>The path.</summary>
    public const string Path = "/live";

    /// <summary>The subprotocol's name.</summary>
    public const string Protocol = "tunnel2.live.v1";

    /// <summary>
    /// The prefix of a browser's token in <c>Sec-WebSocket-Protocol</c>, in base64url: a browser can set no other header.
    /// </summary>
    public const string TokenPrefix = "tunnel2.token.";

    private readonly LivePlane _plane;
    private readonly AdminAuthorization _authorization;

    public LiveEndpoint(LivePlane plane, AdminAuthorization authorization)
    {
        _plane = plane;
        _authorization = authorization;
    }

    /// <summary>Serves the request until the subscriber leaves.</summary>
    /// <returns>False when it is for another path.</returns>
    public async Task<bool> TryHandleAsync(HttpContext http)
    {
        if (DashboardFiles.Has(http.Request.Path.Value))
        {
            // The files hold no data and need no token. A name that others may have pointed here still gets nothing.
            await (_authorization.IsForeign(http.Request)
                ? AnswerAsync(http, StatusCodes.Status403Forbidden, AdminAuthorization.WrongHost, null)
                : DashboardFiles.WriteAsync(http)).ConfigureAwait(false);
            return true;
        }

        if (http.Request.Path.Value != Path)
        {
            return false;
        }

        if (Refuse(http, out var status, out var text, out var retryAfter))
        {
            await AnswerAsync(http, status, text, retryAfter).ConfigureAwait(false);
            return true;
        }

        var hub = _plane.Hub!;
        var guard = _plane.Guard!;
        var admission = guard.TryAdmit(http.Connection.RemoteIpAddress ?? IPAddress.None);
        if (admission != Admission.Admitted)
        {
            hub.Metrics.Refused(admission.ToString());
            await AnswerAsync(
                http,
                admission == Admission.AddressRate ? StatusCodes.Status429TooManyRequests : StatusCodes.Status503ServiceUnavailable,
                admission == Admission.AddressRate
                    ? "too many connections from this address; try again in a moment\n"
                    : $"the live view takes no more connections ({admission}); try again later\n",
                admission is Admission.AddressRate or Admission.Rate ? 1 : 10).ConfigureAwait(false);
            return true;
        }

        try
        {
            await ServeAsync(http, hub).ConfigureAwait(false);
        }
        finally
        {
            guard.Release();
        }

        return true;
    }

    private bool Refuse(HttpContext http, out int status, out string text, out int? retryAfter)
    {
        retryAfter = null;
        var request = http.Request;
        var access = _authorization.Check(request, TokenIn(request), out var wait);
        if (access != AdminAccess.Allowed)
        {
            (status, text) = access switch
            {
                AdminAccess.WrongToken => (StatusCodes.Status401Unauthorized, "a bearer token is needed (Tunnel2:Admin:Token)\n"),
                AdminAccess.TooManyAttempts => (StatusCodes.Status429TooManyRequests, AdminAuthorization.TooManyAttempts),
                _ => (StatusCodes.Status403Forbidden, AdminAuthorization.WrongHost),
            };
            retryAfter = access == AdminAccess.TooManyAttempts ? wait : null;
            return true;
        }

        // A page of another origin may open a WebSocket to any address, and the browser allows it.
        string? origin = request.Headers[HeaderNames.Origin];
        if (!string.IsNullOrEmpty(origin) && !IsOwnOrigin(origin, request.Host.Value))
        {
            (status, text) = (StatusCodes.Status403Forbidden, "pages of other origins may not listen here\n");
            return true;
        }

        if (_plane.Hub is null)
        {
            (status, text) = (
                StatusCodes.Status503ServiceUnavailable, "the live view is off (Tunnel2:Live) or could not be started; the log says why\n");
            return true;
        }

        (status, text) = (StatusCodes.Status426UpgradeRequired, "this is a WebSocket (version 13); docs/live.md describes its messages\n");
        return !HttpMethods.IsGet(request.Method)
            || http.Features.Get<IHttpUpgradeFeature>() is not { IsUpgradableRequest: true }
            || http.Features.Get<IConnectionSocketFeature>() is null
            || !string.Equals(request.Headers[HeaderNames.Upgrade], "websocket", StringComparison.OrdinalIgnoreCase)
            || request.Headers[HeaderNames.SecWebSocketVersion] != "13"
            || request.Headers[HeaderNames.SecWebSocketKey] is not [{ Length: 24 }];
    }

    private async Task ServeAsync(HttpContext http, Hub hub)
    {
        var response = http.Response;
        response.StatusCode = StatusCodes.Status101SwitchingProtocols;
        response.Headers[HeaderNames.Upgrade] = "websocket";
        response.Headers[HeaderNames.Connection] = "Upgrade";
        response.Headers[HeaderNames.SecWebSocketAccept] = WebSocketHandshake.Accept(http.Request.Headers[HeaderNames.SecWebSocketKey]!);
        if (Protocols(http.Request).Contains(Protocol, StringComparer.Ordinal))
        {
            response.Headers[HeaderNames.SecWebSocketProtocol] = Protocol;
        }

        await using var stream = await http.Features.GetRequiredFeature<IHttpUpgradeFeature>().UpgradeAsync().ConfigureAwait(false);
        using var client = hub.Add(http.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket);
        await SubscriberMessages.HandleAllAsync(stream, hub, client).ConfigureAwait(false);
    }

    private static async Task AnswerAsync(HttpContext http, int status, string text, int? retryAfter)
    {
        http.Response.StatusCode = status;
        http.Response.ContentType = "text/plain; charset=utf-8";
        http.Response.Headers[HeaderNames.CacheControl] = "no-store";
        if (retryAfter is { } seconds)
        {
            http.Response.Headers[HeaderNames.RetryAfter] = seconds.ToString(System.Globalization.CultureInfo.InvariantCulture);
        }

        if (status == StatusCodes.Status401Unauthorized)
        {
            http.Response.Headers[HeaderNames.WWWAuthenticate] = "Bearer realm=\"tunnel2\"";
        }
        else if (status == StatusCodes.Status426UpgradeRequired)
        {
            http.Response.Headers[HeaderNames.Upgrade] = "websocket";
        }

        var body = Encoding.UTF8.GetBytes(text);
        http.Response.ContentLength = body.Length;
        await http.Response.Body.WriteAsync(body).ConfigureAwait(false);
    }

    private static bool IsOwnOrigin(string origin, string? host) =>
        Uri.TryCreate(origin, UriKind.Absolute, out var uri) && uri.Authority.Equals(host, StringComparison.OrdinalIgnoreCase);

    private static string[] Protocols(HttpRequest request) =>
        request.Headers.GetCommaSeparatedValues(HeaderNames.SecWebSocketProtocol);

    private static string? TokenIn(HttpRequest request)
    {
        var word = Protocols(request).FirstOrDefault(static word => word.StartsWith(TokenPrefix, StringComparison.Ordinal));
        try
        {
            return word is null
                ? null
                : Encoding.UTF8.GetString(System.Buffers.Text.Base64Url.DecodeFromChars(word.AsSpan(TokenPrefix.Length)));
        }
        catch (FormatException)
        {
            return null;
        }
    }
}
