using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Responses;

public sealed class ResponseHeaderTests
{
    [Fact]
    public Task Repeated_fields_empty_values_and_bytes_beyond_ascii_pass_unchanged() => AnswerAsync(
        "Set-Cookie: a=1\r\nX-One: \u00e9\u00ff\r\nSet-Cookie: b=2\r\nX-Empty:\r\nSet-Cookie: a=1\r\nX-Many: p\r\nX-Many: q, r\r\n"
            + "Server: mine\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
        head =>
        {
            Assert.Equal(["a=1", "b=2", "a=1"], head.All("Set-Cookie"));
            Assert.Equal(["\u00e9\u00ff"], head.All("X-One"));
            Assert.Equal([""], head.All("X-Empty"));
            Assert.Equal(["p", "q, r"], head.All("X-Many"));
            Assert.Equal(["mine"], head.All("Server"));
            Assert.Equal(["Thu, 01 Jan 1970 00:00:00 GMT"], head.All("Date"));
        });

    [Fact]
    public Task Fields_of_one_connection_end_at_it() => AnswerAsync(
        "Connection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\n"
            + "Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Kept: yes\r\n",
        head =>
        {
            string[] names = [.. head.Fields.Select(static field => field.Key).Where(static name => name is not "Date").Order()];
            Assert.Equal(["Content-Length", "X-Kept"], names);
        });

    [Fact]
    public Task No_backend_can_speak_as_the_tunnel() => AnswerAsync(
        "Tunnel2-Error: agent-offline\r\ntunnel2-anything: x\r\nTUNNEL2-ERROR: y\r\nX-Tunnel2-Error: fine\r\n",
        head =>
        {
            Assert.DoesNotContain(head.Fields, static field => field.Key.StartsWith("tunnel2-", StringComparison.OrdinalIgnoreCase));
            Assert.Equal("fine", head["X-Tunnel2-Error"]);
        });

    [Fact]
    public Task A_hundred_and_ninety_fields_arrive() => AnswerAsync(
        string.Concat(Enumerable.Range(0, 190).Select(static i => $"X-{i}: {i * 3}\r\n")),
        head =>
        {
            for (var i = 0; i < 190; i++)
            {
                Assert.Equal([$"{i * 3}"], head.All($"X-{i}"));
            }
        });

    [Fact]
    public Task A_head_of_sixty_kilobytes_arrives() => AnswerAsync(
        $"X-Big: {new string('b', 60_000)}\r\n",
        head => Assert.Equal(60_000, head["X-Big"]!.Length));

    [Theory]
    [InlineData(1, 70_000)]
    [InlineData(10, 20_000)]
    [InlineData(250, 10)]
    public Task A_head_beyond_the_limits_is_a_502_that_says_so(int count, int length) => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(
                $"HTTP/1.1 200 "
                    + $"OK\r\n{string.Concat(Enumerable.Range(0, count).Select(i => $"X-{i}: {new string('v', length)}\r\n"))}"
                    + $"Content-Length: 0\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal(502, head.StatusCode);
            Assert.Equal("backend-head-too-large", head["Tunnel2-Error"]);
        });

    private static Task AnswerAsync(string fields, Action<TestUtilities.RawHttpHead> check) => TunnelFixture.RunAsync(
        async connection =>
        {
            while (true)
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok");
            }
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 2; i++)
            {
                var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
                Assert.Equal(200, head.StatusCode);
                Assert.Equal("ok", body.Text());
                check(head);
            }
        });
}
