using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Responses;

public sealed class FramingTests
{
    public static TheoryData<string, string> Whole => new()
    {
        { "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", "hello world" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "hello" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n", "hello world" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n000b\r\nhello world\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n", "hello world" },
        { "HTTP/1.0 200 OK\r\n\r\nhello world", "hello world" },
        { "HTTP/1.0 200 OK\r\n\r\n", "" },
        { "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world", "hello world" },
        { "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", "hello" },
        { "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello" },
        {
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "ok"},
    };

    [Theory]
    [MemberData(nameof(Whole))]
    public Task A_whole_answer_arrives_whole_however_the_backend_frames_it(string answer, string expected) => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(answer);
            await connection.CloseAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 3; i++)
            {
                var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
                Assert.Equal(200, head.StatusCode);
                Assert.Equal(expected, body.Text());
                Assert.Equal(ConnectionEnding.Complete, body.Ending);
            }
        });

    [Theory]
    [MemberData(nameof(Whole))]
    public Task An_answer_in_single_bytes_is_the_same_answer(string answer, string expected) => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteInPiecesAsync(answer, 1);
            await connection.CloseAsync();
        },
        async tunnel =>
        {
            var (head, body) = await tunnel.ExchangeAsync("/");
            Assert.Equal(200, head.StatusCode);
            Assert.Equal(expected, body.Text());
            Assert.Equal(ConnectionEnding.Complete, body.Ending);
        });

    [Fact]
    public Task A_declared_length_stays_declared() => TunnelFixture.RunAsync(async tunnel =>
    {
        var (head, body) = await tunnel.ExchangeAsync("/bytes/70000");
        Assert.Equal("70000", head["Content-Length"]);
        Assert.Null(head["Transfer-Encoding"]);
        PatternBytes.Verify(body.Bytes, 0);
        Assert.Equal(70_000, body.Bytes.Length);
    });

    [Fact]
    public Task Kept_connections_to_the_backend_are_used_again() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        for (var i = 0; i < 20; i++)
        {
            // Every visitor is a new one.
            var (head, _) = await tunnel.ExchangeAsync($"/{i}");
            Assert.Equal(200, head.StatusCode);
        }

        Assert.InRange(tunnel.RawBackend.ConnectionsAccepted.Value, 1, TestEngine.IsPortable ? 2 : 1);
    });

    [Fact]
    public Task Bytes_behind_an_answer_never_become_another_answer() => TunnelFixture.RunAsync(
        async connection =>
        {
            while (true)
            {
                var head = await connection.ReadHeadAsync();
                await connection.WriteAsync(
                    $"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Target: {head.Target}\r\n\r\nokHTTP/1.1 200 OK\r\n"
                        + $"Content-Length: 4\r\n\r\nevil");
            }
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 5; i++)
            {
                var (head, body) = await visitor.ExchangeAsync($"/{i}", TunnelFixture.Host);
                Assert.Equal($"/{i}", head["X-Target"]);
                Assert.Equal("ok", body.Text());
            }
        });
}
