using Microsoft.AspNetCore.Http;
using Tunnel2.ProxyEntry.Live;

namespace Tunnel2.ProxyEntry.Tests.Live;

public sealed class DashboardTests
{
    [Theory]
    [InlineData("GET", true)]
    [InlineData("HEAD", false)]
    public async Task The_page_is_given_with_its_length_and_may_load_nothing_from_elsewhere(string method, bool hasBody)
    {
        var (response, body) = await AskAsync(method);
        Assert.Equal((200, "text/html; charset=utf-8"), (response.StatusCode, response.ContentType));
        Assert.True(response.ContentLength > 1000);
        Assert.Equal(hasBody ? response.ContentLength : 0, body.Length);
        Assert.StartsWith("default-src 'none';", response.Headers.ContentSecurityPolicy.ToString(), StringComparison.Ordinal);
        Assert.Equal("no-cache", response.Headers.CacheControl);
        Assert.Equal("nosniff", response.Headers.XContentTypeOptions);
    }

    [Fact]
    public async Task Another_method_is_refused()
    {
        var (response, body) = await AskAsync("POST");
        Assert.Equal((405, 0L), (response.StatusCode, body.Length));
        Assert.Equal("GET, HEAD", response.Headers.Allow);
    }

    private static async Task<(HttpResponse Response, MemoryStream Body)> AskAsync(string method)
    {
        var body = new MemoryStream();
        var http = new DefaultHttpContext();
        http.Request.Method = method;
        http.Response.Body = body;
        await Dashboard.WriteAsync(http);
        return (http.Response, body);
    }
}
