using System.Globalization;
using System.Text;
using Microsoft.Net.Http.Headers;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Lifetime;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>
/// Serves the admin listener: <c>/health/live</c>, <c>/health/ready</c> and <c>/metrics</c>. A switch, because three paths need no routing.
/// Health needs no token, because probes carry none and it shows no secret; all else is guarded. Thread-safe.
/// </summary>
internal sealed class AdminEndpoints
{
    private readonly Readiness _readiness;
    private readonly PrometheusCollector _collector;
    private readonly AdminAuthorization _authorization;
    private readonly ILogger _logger;

    public AdminEndpoints(
        Readiness readiness, PrometheusCollector collector, AdminAuthorization authorization, ILogger<AdminEndpoints> logger)
    {
        _readiness = readiness;
        _collector = collector;
        _authorization = authorization;
        _logger = logger;
    }

    /// <summary>As the end of a pipeline: other paths get 404.</summary>
    public Task HandleAsync(HttpContext context) => HandleAsync(context, NotFoundAsync);

    /// <summary>The answer to a path that does not exist.</summary>
    public static Task NotFoundAsync(HttpContext context) =>
        WriteTextAsync(context, StatusCodes.Status404NotFound, "not found; there are /health/live, /health/ready and /metrics\n");

    /// <summary>As a step of a pipeline: other paths are passed on, if the request is authorised.</summary>
    public Task HandleAsync(HttpContext context, RequestDelegate next)
    {
        switch (context.Request.Path.Value)
        {
            case "/health/live":
                return IfReading(context, static (_, c) => WriteTextAsync(c, StatusCodes.Status200OK, "live\n"));
            case "/health/ready":
                return IfReading(context, static (self, c) => self.WriteReadinessAsync(c));
        }

        var isMetrics = context.Request.Path.Value == "/metrics";
        var access = isMetrics
            ? _authorization.CheckMetrics(context.Request, out var wait)
            : _authorization.Check(context.Request, null, out wait);
        if (access != AdminAccess.Allowed)
        {
            return RefuseAsync(context, access, wait);
        }

        return isMetrics ? IfReading(context, static (self, c) => self.WriteMetricsAsync(c)) : next(context);
    }

    private Task IfReading(HttpContext context, Func<AdminEndpoints, HttpContext, Task> write)
    {
        if (HttpMethods.IsGet(context.Request.Method) || HttpMethods.IsHead(context.Request.Method))
        {
            return write(this, context);
        }

        context.Response.Headers[HeaderNames.Allow] = "GET, HEAD";
        return WriteTextAsync(context, StatusCodes.Status405MethodNotAllowed, "only GET and HEAD\n");
    }

    private Task WriteReadinessAsync(HttpContext context) => _readiness.IsReady
        ? WriteTextAsync(context, StatusCodes.Status200OK, "ready\n")
        : WriteTextAsync(context, StatusCodes.Status503ServiceUnavailable, _readiness.Reason + "\n");

    private Task WriteMetricsAsync(HttpContext context)
    {
        var body = _collector.Collect();
        return WriteAsync(context, StatusCodes.Status200OK, PrometheusText.ContentType, body);
    }

    private Task RefuseAsync(HttpContext context, AdminAccess access, int wait)
    {
        if (access == AdminAccess.TooManyAttempts)
        {
            // No line of the log for each: the wrong tokens before were logged.
            context.Response.Headers[HeaderNames.RetryAfter] = wait.ToString(CultureInfo.InvariantCulture);
            return WriteRefusalAsync(
                context, StatusCodes.Status429TooManyRequests, "too-many-attempts", AdminAuthorization.TooManyAttempts);
        }

        if (access == AdminAccess.WrongHost)
        {
            ProxyEntryLog.AdminRefused(
                _logger, context.Connection.RemoteIpAddress, "the Host is neither this machine nor one of Admin:Hosts");
            return WriteRefusalAsync(context, StatusCodes.Status403Forbidden, "host", AdminAuthorization.WrongHost);
        }

        ProxyEntryLog.AdminRefused(_logger, context.Connection.RemoteIpAddress, "the bearer token is missing or wrong");
        context.Response.Headers[HeaderNames.WWWAuthenticate] = "Bearer realm=\"tunnel2\"";
        return WriteRefusalAsync(
            context, StatusCodes.Status401Unauthorized, "unauthorized", "a bearer token is needed (Tunnel2:Admin:Token)\n");
    }

    /// <summary>A problem document for the API, a line of text for others.</summary>
    private static Task WriteRefusalAsync(HttpContext context, int status, string code, string text) =>
        (context.Request.Path.Value ?? "").StartsWith(AdminProblem.Path, StringComparison.Ordinal)
            ? AdminProblem.WriteAsync(context, status, code, text.TrimEnd())
            : WriteTextAsync(context, status, text);

    private static Task WriteTextAsync(HttpContext context, int status, string text) =>
        WriteAsync(context, status, "text/plain; charset=utf-8", Encoding.UTF8.GetBytes(text));

    private static Task WriteAsync(HttpContext context, int status, string contentType, byte[] body)
    {
        var response = context.Response;
        response.StatusCode = status;
        response.ContentType = contentType;
        response.ContentLength = body.Length;
        response.Headers[HeaderNames.CacheControl] = "no-store";
        return HttpMethods.IsHead(context.Request.Method)
            ? Task.CompletedTask
            : response.Body.WriteAsync(body, context.RequestAborted).AsTask();
    }
}
