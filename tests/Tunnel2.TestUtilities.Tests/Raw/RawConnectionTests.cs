namespace Tunnel2.TestUtilities.Tests.Raw;

public sealed class RawConnectionTests
{
    [Fact]
    public async Task A_response_is_read_as_it_was_sent()
    {
        await using var server = RawTcpServer.StartAnswering(
            "HTTP/1.1 200 Fine\r\nb: 1\r\nA:  2 \r\nb: 3\r\nContent-Length: 5\r\n\r\nhello");
        await using var client = await RawHttpClient.ConnectAsync(server.EndPoint);
        var (head, body) = await client.ExchangeAsync("/");
        Assert.Equal(200, head.StatusCode);
        Assert.Equal(["b", "A", "b", "Content-Length"], head.Fields.Select(field => field.Key));
        Assert.Equal(["1", "3"], head.All("B"));
        Assert.Equal("2", head["a"]);
        Assert.Equal(("hello", ConnectionEnding.Complete), (body.Text, body.Ending));
        Assert.Equal(ConnectionEnding.Fin, await client.WaitForEndAsync());
    }

    [Theory]
    [InlineData("Content-Length: 10\r\n\r\nshort", "short", ConnectionEnding.Fin)]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", "short", ConnectionEnding.Fin)]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n5\r\nsho", "sho", ConnectionEnding.Fin)]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n0\r\n\r\n", "short", ConnectionEnding.Complete)]
    [InlineData("Transfer-Encoding: chunked\r\n\r\nhuh\r\n", "", ConnectionEnding.Malformed)]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n5\r\nshortX\r\n", "short", ConnectionEnding.Malformed)]
    [InlineData("\r\nto the end", "to the end", ConnectionEnding.Complete)]
    public async Task A_body_says_how_it_ended(string afterStatusLine, string content, ConnectionEnding ending)
    {
        await using var server = RawTcpServer.StartAnswering("HTTP/1.1 200 OK\r\n" + afterStatusLine);
        await using var client = await RawHttpClient.ConnectAsync(server.EndPoint);
        var (_, body) = await client.ExchangeAsync("/");
        Assert.Equal((content, ending), (body.Text, body.Ending));
    }

    [Fact]
    public async Task A_reset_differs_from_an_end_and_what_came_before_it_is_kept()
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\n\r\nsome");
            await connection.ReadExactlyAsync(1);
            connection.Reset();
        });
        await using var client = await RawHttpClient.ConnectAsync(server.EndPoint);
        await client.SendRequestAsync("/");
        var body = client.OpenBody(await client.ReadHeadAsync());
        var buffer = new byte[10];
        Assert.Equal(4, await body.ReadAsync(buffer));
        await client.WriteAsync("!");
        Assert.Equal(0, await body.ReadAsync(buffer));
        Assert.Equal((ConnectionEnding.Reset, ConnectionEnding.Reset), (body.Ending, client.Ending));
    }

    [Fact]
    public async Task Trailers_follow_the_last_chunk_and_the_next_response_stays_readable()
    {
        await using var server = RawTcpServer.StartAnswering(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n"
            + "HTTP/1.1 204 No Content\r\n\r\n");
        await using var client = await RawHttpClient.ConnectAsync(server.EndPoint);
        var (_, body) = await client.ExchangeAsync("/");
        Assert.Equal("abcde", body.Text);
        Assert.Equal([new("T", "1")], body.Trailers);
        var next = await client.ReadHeadAsync();
        Assert.Equal(204, next.StatusCode);
        Assert.Equal(ConnectionEnding.Complete, (await client.ReadBodyAsync(next)).Ending);
    }

    [Fact]
    public async Task A_head_that_does_not_come_whole_is_an_error_with_what_came()
    {
        await using var server = RawTcpServer.StartAnswering("HTTP/1.1 200 OK\r\nA: 1\r\n");
        await using var client = await RawHttpClient.ConnectAsync(server.EndPoint);
        await client.SendRequestAsync("/");
        var e = await Assert.ThrowsAsync<RawConnectionEndedException>(() => client.ReadHeadAsync());
        Assert.Equal((ConnectionEnding.Fin, "HTTP/1.1 200 OK\r\nA: 1\r\n"), (e.Ending, e.Received));
    }

    [Fact]
    public async Task Torn_requests_with_bodies_arrive_whole()
    {
        RawHttpHead? head = null;
        RawHttpBody? body = null;
        await using var server = RawTcpServer.Start(async connection =>
        {
            head = await connection.ReadHeadAsync();
            body = await connection.ReadBodyAsync(head);
            await connection.WriteAsync("HTTP/1.1 204 No Content\r\n\r\n");
        });
        await using var client = await RawHttpClient.ConnectAsync(server.EndPoint);
        await client.WriteInPiecesAsync("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd", 3);
        Assert.Equal(204, (await client.ReadHeadAsync()).StatusCode);
        Assert.Equal(("POST", "/x", "abcd"), (head!.Method, head.Target, body!.Text));
    }

    [Fact]
    public async Task A_failure_of_the_tests_code_behind_the_server_is_not_lost()
    {
        var server = RawTcpServer.Start(_ => throw new InvalidDataException("the test is wrong"));
        await using (await RawHttpClient.ConnectAsync(server.EndPoint))
        {
            await server.ConnectionsDone.WaitForAsync(1);
        }

        var e = await Assert.ThrowsAsync<AggregateException>(() => server.DisposeAsync().AsTask());
        Assert.IsType<InvalidDataException>(Assert.Single(e.InnerExceptions));
    }
}
