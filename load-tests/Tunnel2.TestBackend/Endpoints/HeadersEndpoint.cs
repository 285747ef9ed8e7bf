using System.Text.Json;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.TestBackend.Hosting;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/headers</c> and <c>/set-headers</c>.</summary>
internal static class HeadersEndpoint
{
    /// <summary>
    /// On HTTP/1.1 the fields as they came over the wire (order, case, duplicates); on HTTP/2 what Kestrel keeps (fields of the same
    /// name together). The response field <c>X-Fields-From</c> says which.
    /// </summary>
    public static Task ListAsync(HttpContext context)
    {
        var request = context.Request;
        var target = context.Features.Get<IHttpRequestFeature>()!.RawTarget;

        // The tap belongs to a connection. Over HTTP/2 it continues while a request is served, and what it keeps is no head.
        var tap = HttpProtocol.IsHttp2(request.Protocol) ? null : context.Features.Get<RawConnectionTap>();
        var fields = tap?.TakeFields(request.Method, target);
        context.Response.Headers["X-Fields-From"] = fields is null ? "parsed" : "wire";
        fields ??= [.. request.Headers.SelectMany(field => field.Value, (field, value) => KeyValuePair.Create(field.Key, value ?? ""))];
        List<string[]> pairs = [.. fields.Select(field => new[] { field.Key, field.Value })];
        return BackendHandler.AnswerAsync(
            context, StatusCodes.Status200OK, "application/json",
            JsonSerializer.SerializeToUtf8Bytes(pairs, BackendJson.Default.ListStringArray));
    }

    public static Task SetAsync(HttpContext context)
    {
        var headers = context.Response.Headers;
        try
        {
            foreach (var (name, value) in context.Request.QueryPairs())
            {
                headers.Append(name, value);
            }
        }
        catch (InvalidOperationException e)
        {
            // Kestrel refuses names and values that are not allowed in a field.
            headers.Clear();
            return BackendHandler.AnswerTextAsync(context, StatusCodes.Status400BadRequest, e.Message);
        }

        if (headers.ContentType.Count == 0)
        {
            headers.ContentType = "text/plain";
        }

        return context.Response.BodyWriter.WriteAsync("ok\n"u8.ToArray()).AsTask();
    }
}
