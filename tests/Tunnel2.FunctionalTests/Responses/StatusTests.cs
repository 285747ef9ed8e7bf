using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Responses;

public sealed class StatusTests
{
    [Fact]
    public Task Every_final_status_is_forwarded_with_its_reason() => TunnelFixture.RunAsync(AnswerAsTargetSaysAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        for (var status = 200; status <= 599; status++)
        {
            var (head, body) = await visitor.ExchangeAsync($"/{status}", TunnelFixture.Host);
            Assert.Equal($"HTTP/1.1 {status} Reason of {status}", head.StartLine);
            Assert.Equal(status is 204 or 205 or 304 ? "" : $"body of {status}", body.Text());
            Assert.Equal(ConnectionEnding.Complete, body.Ending);
            Assert.Null(head["Tunnel2-Error"]);
        }

        Assert.InRange(tunnel.RawBackend.ConnectionsAccepted.Value, 1, TestEngine.IsPortable ? 2 : 1);
    });

    [Theory]
    [InlineData("HTTP/1.1 204 No Content\r\n\r\n", 204)]
    [InlineData("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204)]
    [InlineData("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", 304)]
    [InlineData("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 1234\r\n\r\n", 304)]
    [InlineData("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nTransfer-Encoding: chunked\r\n\r\n", 304)]
    public Task A_status_without_a_body_ends_with_its_head_and_its_connection_stays(string answer, int status) => TunnelFixture.RunAsync(
        connection => AnswerAllAsync(connection, answer),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 3; i++)
            {
                var (head, _) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
                Assert.Equal(status, head.StatusCode);
                Assert.Equal(status == 304 ? "\"x\"" : null, head["ETag"]);
                Assert.Null(head["Transfer-Encoding"]);
            }

            Assert.InRange(tunnel.RawBackend.ConnectionsAccepted.Value, 1, TestEngine.IsPortable ? 2 : 1);
        });

    [Theory]
    [InlineData("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 ")]
    [InlineData("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 ")]
    [InlineData("HTTP/1.1 200 Alles klar\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 Alles klar")]
    [InlineData("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 418 I'm a teapot")]
    [InlineData("HTTP/1.0 200 Fine\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 Fine")]
    public Task The_reason_is_the_backends_own(string answer, string expected) => TunnelFixture.RunAsync(
        connection => AnswerAllAsync(connection, answer),
        async tunnel =>
        {
            var (head, body) = await tunnel.ExchangeAsync("/");
            Assert.Equal(expected, head.StartLine);
            Assert.Equal("ok", body.Text());
        });

    private static async Task AnswerAsTargetSaysAsync(RawConnection connection)
    {
        while (true)
        {
            var status = (await connection.ReadHeadAsync()).Target[1..];
            var body = status is "204" or "205" or "304" ? "" : $"body of {status}";
            var length = status is "204" or "304" ? "" : $"Content-Length: {body.Length}\r\n";
            await connection.WriteAsync($"HTTP/1.1 {status} Reason of {status}\r\n{length}\r\n{body}");
        }
    }

    private static async Task AnswerAllAsync(RawConnection connection, string answer)
    {
        while (true)
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(answer);
        }
    }
}
