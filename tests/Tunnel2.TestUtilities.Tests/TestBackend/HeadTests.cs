using System.Net;
using System.Text.Json;

namespace Tunnel2.TestUtilities.Tests.TestBackend;

public sealed class HeadTests(BackendFixture backend) : IClassFixture<BackendFixture>
{
    [Fact]
    public async Task Request_fields_are_reported_in_their_order_and_spelling_on_a_kept_connection_too()
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        for (var i = 0; i < 3; i++)
        {
            await client.WriteInPiecesAsync(
                $"GET /headers?i={i} HTTP/1.1\r\nx-B: 1\r\nHOST: h\r\nX-a: caf\u00e9\r\nx-B:  2 \r\nAccept: */*\r\n\r\n", 20);
            var head = await client.ReadHeadAsync();
            Assert.Equal("wire", head["X-Fields-From"]);
            var fields = JsonSerializer.Deserialize<string[][]>((await client.ReadBodyAsync(head)).Bytes)!;
            Assert.Equal(
                ["x-B=1", "HOST=h", "X-a=caf\u00e9", "x-B=2", "Accept=*/*"], fields.Select(field => $"{field[0]}={field[1]}"));
            // A body with the path in it must not confuse the next answer.
            await client.WriteAsync("POST /sink HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\nGET /headers HTTP/1.1\r\nx: y\r\n\r\n.");
            await client.ReadBodyAsync(await client.ReadHeadAsync());
        }
    }

    [Fact]
    public async Task Over_http2_the_fields_are_reported_as_kestrel_parsed_them()
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, backend.TlsUri("headers"))
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.Add("x-test", "1");
        using var response = await backend.Http.SendAsync(request);
        Assert.Equal("parsed", response.Headers.GetValues("X-Fields-From").Single());
        var fields = JsonSerializer.Deserialize<string[][]>(await response.Content.ReadAsByteArrayAsync())!;
        Assert.Contains(fields, field => field is ["x-test", "1"]);
    }

    [Fact]
    public async Task Response_fields_are_set_as_asked_duplicates_too()
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        var (head, _) = await client.ExchangeAsync("/set-headers?Set-Cookie=a%3D1%3B%20Path%3D/&Set-Cookie=b%3D2&x-y=z");
        Assert.Equal(["a=1; Path=/", "b=2"], head.All("Set-Cookie"));
        Assert.Equal("z", head["X-Y"]);
        Assert.Equal(400, (await client.ExchangeAsync("/set-headers?x%0Ay=z")).Head.StatusCode);
    }

    [Theory]
    [InlineData(200)]
    [InlineData(204)]
    [InlineData(304)]
    [InlineData(418)]
    [InlineData(503)]
    [InlineData(799)]
    public async Task Any_status_comes_with_its_body_where_it_may_have_one(int status)
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        var (head, body) = await client.ExchangeAsync($"/status/{status}?body=tea%20time");
        Assert.Equal(status, head.StatusCode);
        Assert.Equal(status is 204 or 304 ? "" : "tea time", body.Text);
        Assert.Equal(200, (await client.ExchangeAsync("/bytes/1")).Head.StatusCode);
    }

    [Fact]
    public async Task Trailers_follow_the_body_on_http1_and_on_http2()
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        var (_, body) = await client.ExchangeAsync("/trailers?grpc-status=0&x-sum=abc");
        Assert.Equal(("body\n", ConnectionEnding.Complete), (body.Text, body.Ending));
        Assert.Equal([new("grpc-status", "0"), new("x-sum", "abc")], body.Trailers);
        Assert.Equal(200, (await client.ExchangeAsync("/bytes/1")).Head.StatusCode);

        using var request = new HttpRequestMessage(HttpMethod.Get, backend.TlsUri("trailers?grpc-status=0"))
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        using var response = await backend.Http.SendAsync(request);
        Assert.Equal("body\n", await response.Content.ReadAsStringAsync());
        Assert.Equal("0", response.TrailingHeaders.GetValues("grpc-status").Single());
    }

    [Fact]
    public async Task The_root_says_who_answers_and_an_unknown_path_is_not_found()
    {
        Assert.StartsWith(
            $"tunnel2-testbackend on {backend.Plain.EndPoint}, HTTP/1.1",
            await backend.Http.GetStringAsync(backend.PlainUri("")),
            StringComparison.Ordinal);
        foreach (var path in new[] { "nothing", "bytes/", "bytes/-1", "bytes/x", "status/99", "upgrade/other", "stream/1/2" })
        {
            using var response = await backend.Http.GetAsync(backend.PlainUri(path));
            Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
        }
    }
}
