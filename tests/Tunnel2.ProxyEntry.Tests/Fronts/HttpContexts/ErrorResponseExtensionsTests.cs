using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;

namespace Tunnel2.ProxyEntry.Tests.Fronts.HttpContexts;

public sealed class ErrorResponseExtensionsTests
{
    [Fact]
    public async Task The_answer_replaces_what_was_set_before()
    {
        var (context, body) = CreateContext("GET", "text/html");
        context.Response.Headers["Set-Cookie"] = "from=backend";

        await context.WriteProxyErrorAsync(ProxyError.BackendRefused);

        Assert.Equal(502, context.Response.StatusCode);
        Assert.False(context.Response.Headers.ContainsKey("Set-Cookie"));
        Assert.Equal("backend-refused", context.Response.Headers["Tunnel2-Error"]);
        Assert.Equal("text/html; charset=utf-8", context.Response.ContentType);
        Assert.Equal(body.Length, context.Response.ContentLength);
        Assert.StartsWith("<!doctype html>", Encoding.UTF8.GetString(body.ToArray()), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Head_gets_the_headers_without_the_body()
    {
        var (context, body) = CreateContext("HEAD", "*/*");

        await context.WriteProxyErrorAsync(ProxyError.UnknownName);

        Assert.Equal(404, context.Response.StatusCode);
        Assert.True(context.Response.ContentLength > 0);
        Assert.Equal(0, body.Length);
    }

    [Fact]
    public async Task After_the_response_head_the_exchange_is_aborted()
    {
        var (context, body) = CreateContext("GET", "*/*");
        var lifetime = new Lifetime();
        context.Features.Set<IHttpRequestLifetimeFeature>(lifetime);
        context.Features.Set<IHttpResponseFeature>(new StartedResponse());

        await context.WriteProxyErrorAsync(ProxyError.UplinkLost);

        Assert.True(lifetime.IsAborted);
        Assert.Equal(0, body.Length);
        Assert.Equal(200, context.Response.StatusCode);
    }

    private static (DefaultHttpContext Context, MemoryStream Body) CreateContext(string method, string accept)
    {
        var body = new MemoryStream();
        var context = new DefaultHttpContext();
        context.Request.Method = method;
        context.Request.Headers.Accept = accept;
        context.Response.Body = body;
        return (context, body);
    }

    private sealed class StartedResponse : HttpResponseFeature
    {
        public override bool HasStarted => true;
    }

    private sealed class Lifetime : IHttpRequestLifetimeFeature
    {
        public bool IsAborted { get; private set; }

        public CancellationToken RequestAborted { get; set; }

        public void Abort() => IsAborted = true;
    }
}
