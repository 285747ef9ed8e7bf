using System.Collections.Concurrent;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Backends;

public sealed class PoolTests
{
    [Fact]
    public async Task A_get_on_a_connection_that_the_backend_just_closed_is_tried_again_once()
    {
        var seen = new ConcurrentQueue<string>();
        await TunnelFixture.RunAsync(connection => AnswerFirstAndCloseOnSecondAsync(connection, seen), async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 5; i++)
            {
                var (head, _) = await visitor.ExchangeAsync($"/{i}", TunnelFixture.Host);
                Assert.Equal(200, head.StatusCode);
            }

            Assert.Equal(["GET /0", "GET /1", "GET /1", "GET /2", "GET /2", "GET /3", "GET /3", "GET /4", "GET /4"], seen);
        });
    }

    [Theory]
    [InlineData("POST", "Content-Length: 2\r\n", "hi")]
    [InlineData("PATCH", "Content-Length: 2\r\n", "hi")]
    [InlineData("PUT", "Content-Length: 2\r\n", "hi")]
    [InlineData("POST", "Transfer-Encoding: chunked\r\n", "2\r\nhi\r\n0\r\n\r\n")]
    [InlineData("POST", "Content-Length: 0\r\n", "")]
    public async Task What_must_not_be_done_twice_is_not_sent_twice(string method, string fields, string body)
    {
        var seen = new ConcurrentQueue<string>();
        await TunnelFixture.RunAsync(connection => AnswerFirstAndCloseOnSecondAsync(connection, seen), async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.ExchangeAsync("/first", TunnelFixture.Host);
            await visitor.WriteAsync($"{method} /once HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n{fields}\r\n{body}");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(502, head.StatusCode);
            Assert.Equal("backend-closed", head["Tunnel2-Error"]);
            Assert.Equal(["GET /first", $"{method} /once"], seen);
        });
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("POST")]
    public async Task A_connection_that_was_closed_while_idle_is_not_used_again(string method)
    {
        var seen = new ConcurrentQueue<string>();
        await TunnelFixture.RunAsync(
            async connection =>
            {
                seen.Enqueue((await connection.ReadHeadAsync()).StartLine);
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                for (var i = 1; i <= 5; i++)
                {
                    var (head, _) = await visitor.ExchangeAsync($"/{i}", TunnelFixture.Host, method);
                    Assert.Equal(200, head.StatusCode);
                    await tunnel.RawBackend.ConnectionsDone.WaitForAsync(i);
                }

                Assert.Equal(Enumerable.Range(1, 5).Select(i => $"{method} /{i} HTTP/1.1"), seen);
            });
    }

    [Fact]
    public async Task A_get_that_fails_on_a_new_connection_is_not_tried_again()
    {
        var seen = new ConcurrentQueue<string>();
        await TunnelFixture.RunAsync(
            async connection => seen.Enqueue((await connection.ReadHeadAsync()).Target),
            async tunnel =>
            {
                var (head, _) = await tunnel.ExchangeAsync("/a");
                Assert.Equal(502, head.StatusCode);
                Assert.Equal("backend-closed", head["Tunnel2-Error"]);
                Assert.Equal(["/a"], seen);
            });
    }

    [Fact]
    public Task Requests_at_once_have_a_connection_each_and_later_ones_use_them_again() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            for (var round = 0; round < 10; round++)
            {
                var answers = await Task.WhenAll(Enumerable.Range(0, 10).Select(i => tunnel.ExchangeAsync($"/{i}")));
                Assert.Equal(
                    Enumerable.Range(0, 10).Select(static i => $"/{i}"), answers.Select(static answer => answer.Body.Request().Target));
            }

            Assert.InRange(tunnel.RawBackend.ConnectionsAccepted.Value, 1, TestEngine.IsPortable ? 20 : 10);
        });

    [Fact]
    public Task A_backend_that_says_close_gets_a_new_connection_each_time() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            Assert.NotEqual(ConnectionEnding.Open, await connection.WaitForEndAsync());
        },
        async tunnel =>
        {
            for (var i = 1; i <= 4; i++)
            {
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                await tunnel.RawBackend.ConnectionsDone.WaitForAsync(i);
            }

            Assert.Equal(4, tunnel.RawBackend.ConnectionsAccepted.Value);
        });

    /// <summary>The first request of a connection is answered; at the second the connection is closed without an answer.</summary>
    private static async Task AnswerFirstAndCloseOnSecondAsync(RawConnection connection, ConcurrentQueue<string> seen)
    {
        for (var i = 0; i < 2; i++)
        {
            var head = await connection.ReadHeadAsync();
            seen.Enqueue($"{head.Method} {head.Target}");
            if (i == 0)
            {
                await connection.ReadBodyAsync(head);
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        }
    }
}
