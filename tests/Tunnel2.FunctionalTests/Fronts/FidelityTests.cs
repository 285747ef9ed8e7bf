using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>What only our own front for HTTP/1.1 carries, through the whole tunnel.</summary>
public sealed class FidelityTests
{
    [Fact]
    public Task Order_case_and_duplicates_are_kept_both_ways() => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            string[] names = [.. head.Fields.Select(static field => $"{field.Key}={field.Value}").Take(7)];
            Assert.Equal(["zEbRa=1", "Host=web.localhost", "Apple=2", "ZEBRA=3", "X-EMPTY=", "Apple=2", "mIdDlE=4"], names);
            await connection.WriteAsync(
                "HTTP/1.1 200 Sure\r\nSet-Cookie: b\r\nsErVer: x\r\nset-cookie: a\r\nX-One: 1\r\nSet-Cookie: b\r\n"
                    + "Content-Length: 0\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                "GET / HTTP/1.1\r\nzEbRa: 1\r\nHost: web.localhost\r\nApple: 2\r\nZEBRA: 3\r\nX-EMPTY:\r\nApple: 2\r\n"
                    + "mIdDlE:  4\t\r\n\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.StartsWith(
                "HTTP/1.1 200 Sure\r\nSet-Cookie: b\r\nsErVer: x\r\nset-cookie: a\r\nX-One: 1\r\nSet-Cookie: b\r\nContent-Length: 0\r\n"
                    + "Date: ",
                head.Text,
                StringComparison.Ordinal);
        });

    [Theory]
    [InlineData("Connection: keep-alive, X-Private\r\nX-Private: 1\r\n")]
    [InlineData("Connection: close, X-Private\r\nX-Private: 1\r\n")]
    [InlineData("X-Private: 1\r\nConnection: keep-alive\r\nConnection: x-private\r\n")]
    public Task What_connection_names_goes_no_further_in_either_direction(string fields) => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            Assert.Null(head["X-Private"]);
            Assert.Null(head["Connection"]);
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/", fields: fields);
            Assert.Equal(200, head.StatusCode);
            Assert.Null(head["X-Private"]);
        });

    [Fact]
    public Task Trailers_pass_both_ways() => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            Assert.Equal("X-Sum", head["Trailer"]);
            Assert.Equal("trailers", head["TE"]);
            var body = await connection.ReadBodyAsync(head);
            Assert.Equal("hello", body.Text());
            Assert.Equal(["x-SUM=5", "X-Other="], body.Trailers.Select(static field => $"{field.Key}={field.Value}"));
            await connection.WriteAsync(
                "HTTP/1.1 200 OK\r\nTrailer: X-Back\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-back: 1\r\nX-Back: 2\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                "POST / HTTP/1.1\r\nHost: web.localhost\r\nTE: trailers\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"
                    + "hello\r\n0\r\nx-SUM: 5\r\nConnection: no\r\nX-Other:\r\n\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal("X-Back", head["Trailer"]);
            var body = await visitor.ReadBodyAsync(head);
            Assert.Equal("ok", body.Text());
            Assert.Equal(["X-back=1", "X-Back=2"], body.Trailers.Select(static field => $"{field.Key}={field.Value}"));
        });

    [Fact]
    public Task Every_interim_answer_is_passed_on_as_it_comes() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
            await connection.ReadHeadAsync();
        },
        async tunnel =>
        {
            // The backend says no more: what arrives has not waited for anything.
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/", TunnelFixture.Host);
            Assert.Equal("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", (await visitor.ReadHeadAsync()).Text);
        });

    [Fact]
    public Task A_visitor_that_expects_a_100_gets_a_103_and_the_100_and_the_answer() => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
            var body = await connection.ReadBodyAsync(head);
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body.Text()}");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync("POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
            Assert.Equal(103, (await visitor.ReadHeadAsync()).StatusCode);
            Assert.Equal(100, (await visitor.ReadHeadAsync()).StatusCode);
            await visitor.WriteAsync("hello");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal("hello", (await visitor.ReadBodyAsync(head)).Text());
        });

    [Fact]
    public Task A_visitor_of_http_1_0_may_keep_its_connection_when_it_asks() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        for (var i = 0; i < 3; i++)
        {
            await visitor.WriteAsync("GET / HTTP/1.0\r\nHost: web.localhost\r\nConnection: Keep-Alive\r\n\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal("keep-alive", head["Connection"]);
            Assert.Equal("GET / HTTP/1.1", (await visitor.ReadBodyAsync(head)).Request().StartLine);
        }
    });

    [Fact]
    public async Task A_slow_reader_holds_the_backend_up()
    {
        const int Length = 64 * 1024 * 1024;
        var sent = new AsyncCounter("bytes sent");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {Length}\r\n\r\n");
                for (var i = 0; i < Length; i += 64 * 1024)
                {
                    await connection.WriteAsync(new byte[64 * 1024]);
                    sent.Add(64 * 1024);
                }
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync(receiveBufferSize: 16 * 1024);
                await visitor.SendRequestAsync("/", TunnelFixture.Host);
                await visitor.ReadHeadAsync();

                // Another exchange, from beginning to end, while this one is open.
                await sent.WaitForAsync(256 * 1024);
                Assert.True(sent.Value < Length);
                await visitor.ReadExactlyAsync(Length);
                await sent.WaitForAsync(Length);
            });
    }
}
