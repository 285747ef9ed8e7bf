using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Requests;

public sealed class MethodTests
{
    [Fact]
    public Task Every_method_reaches_the_backend_as_it_was_written() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        foreach (var method in new[] { "GET", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH", "get", "X", "TRACE", "PURGE" })
        {
            var (head, body) = await visitor.ExchangeAsync("/a", TunnelFixture.Host, method);
            Assert.Equal("HTTP/1.1 200 OK", head.StartLine);
            Assert.Equal($"{method} /a HTTP/1.1", body.Request().StartLine);
            Assert.Null(body.Request()["Content-Length"]);
            Assert.Null(body.Request()["Transfer-Encoding"]);
        }
    });

    [Theory]
    [InlineData("POST")]
    [InlineData("PUT")]
    [InlineData("PATCH")]
    [InlineData("DELETE")]
    [InlineData("OPTIONS")]
    [InlineData("REPORT")]
    [InlineData("GET")]
    public Task A_body_goes_with_any_method(string method) => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync($"{method} /b HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 5\r\n\r\nhello");
        var head = await visitor.ReadHeadAsync();
        var body = await visitor.ReadBodyAsync(head);
        Assert.Equal(200, head.StatusCode);
        Assert.Equal(method, body.Request().Method);
        Assert.Equal("5", body.Request()["Content-Length"]);
        Assert.Equal("hello", body.RequestBody());
    });

    [Fact]
    public Task Options_asks_about_the_backend_itself_with_an_asterisk() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (head, body) = await tunnel.ExchangeAsync("*", "OPTIONS");
        Assert.Equal(200, head.StatusCode);
        Assert.Equal("OPTIONS * HTTP/1.1", body.Request().StartLine);
    });

    [Fact]
    public Task Connect_is_not_forwarded() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync($"CONNECT {TunnelFixture.Host}:80 HTTP/1.1\r\nHost: {TunnelFixture.Host}:80\r\n\r\n");
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(501, head.StatusCode);
        Assert.Equal("method-not-supported", head["Tunnel2-Error"]);
        Assert.Equal(0, tunnel.RawBackend.ConnectionsAccepted.Value);
    });

    [Fact]
    public Task Head_has_the_fields_of_the_answer_and_no_body() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        for (var i = 0; i < 3; i++)
        {
            var (head, body) = await visitor.ExchangeAsync("/bytes/1000", TunnelFixture.Host, "HEAD");
            Assert.Equal(200, head.StatusCode);
            Assert.Equal("1000", head["Content-Length"]);
            Assert.Equal("\"tunnel2-pattern-1\"", head["ETag"]);
            Assert.Empty(body.Bytes);
        }

        var (_, whole) = await visitor.ExchangeAsync("/bytes/10", TunnelFixture.Host);
        Assert.Equal(10, whole.Bytes.Length);
    });

    [Fact]
    public Task Pipelined_requests_are_answered_in_their_order() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync(string.Concat(Enumerable.Range(0, 20).Select(i => i % 2 == 0
            ? $"GET /p/{i} HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n\r\n"
            : $"POST /p/{i} HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 3\r\n\r\n{i:000}")));
        for (var i = 0; i < 20; i++)
        {
            var head = await visitor.ReadHeadAsync();
            var body = await visitor.ReadBodyAsync(head);
            Assert.Equal($"/p/{i}", body.Request().Target);
            Assert.Equal(i % 2 == 0 ? "" : $"{i:000}", body.RequestBody());
        }
    });

    [Fact]
    public Task A_request_in_single_bytes_is_one_request() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteInPiecesAsync(
            $"POST /slow HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            1);
        var head = await visitor.ReadHeadAsync();
        var body = await visitor.ReadBodyAsync(head);
        Assert.Equal("abcde", body.RequestBody());
        Assert.Equal("chunked", body.Request()["Transfer-Encoding"]);
        Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
    });

    [Fact]
    public Task A_visitor_of_http_1_0_gets_an_answer_that_ends_with_the_connection() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync($"GET /stream/3/100/0 HTTP/1.0\r\nHost: {TunnelFixture.Host}\r\n\r\n");
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(200, head.StatusCode);
        Assert.Null(head["Transfer-Encoding"]);
        var body = await visitor.ReadToEndAsync();
        Assert.Equal(300, body.Length);
        PatternBytes.Verify(body, 0);
        Assert.Equal(ConnectionEnding.Fin, visitor.Ending);
    });
}
