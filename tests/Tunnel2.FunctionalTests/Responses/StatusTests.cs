using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Responses;

public sealed class StatusTests
{
    private const string UpgradeRequired = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket, chat/2\r\n"
        + "Connection: Upgrade, X-Hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nno";

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

    /// <summary>RFC 9110 section 15.5.22: a 426 has to say which protocols it wants. Section 7.8: Connection lists that field.</summary>
    [Theory]
    [InlineData("", "Upgrade")]
    [InlineData("Connection: close\r\n", "Upgrade, close")]
    public Task An_upgrade_that_is_required_reaches_the_visitor(string fields, string connection) => TunnelFixture.RunAsync(
        static connection => AnswerAllAsync(connection, UpgradeRequired),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: fields);
            Assert.Equal(("HTTP/1.1 426 Upgrade Required", "no"), (head.StartLine, body.Text()));
            Assert.Equal([connection], head.All("Connection"));
            Assert.Equal(["websocket, chat/2"], head.All("Upgrade"));
            Assert.Null(head["X-Hop"]);
        });

    [Fact]
    public Task An_upgrade_that_is_only_offered_ends_at_the_first_hop() => TunnelFixture.RunAsync(
        static connection => AnswerAllAsync(
            connection, UpgradeRequired.Replace("426 Upgrade Required", "200 OK", StringComparison.Ordinal)),
        async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal((200, null, null), (head.StatusCode, head["Upgrade"], head["Connection"]));
        });

    /// <summary>RFC 9113 section 8.2.2: HTTP/2 has neither of the fields.</summary>
    [Theory]
    [InlineData("HTTP/2 over TLS")]
    [InlineData("HTTP/2 by preface")]
    public Task An_upgrade_that_is_required_is_a_bare_status_over_http2(string kind) => FrontVisitor.RunAsync(
        kind,
        static connection => AnswerAllAsync(connection, UpgradeRequired),
        async visitor =>
        {
            using var answer = await visitor.Client.GetAsync(new Uri("/", UriKind.Relative));
            Assert.Equal(426, (int)answer.StatusCode);
            Assert.DoesNotContain(answer.Headers, static field => field.Key is "Upgrade" or "Connection");
            Assert.Equal("no", await answer.Content.ReadAsStringAsync());
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
