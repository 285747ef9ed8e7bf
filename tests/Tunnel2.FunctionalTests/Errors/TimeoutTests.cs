using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

[Trait("Engine", "each")]
public sealed class TimeoutTests
{
    [Fact]
    public async Task A_backend_that_does_not_begin_its_answer_in_time_is_a_504_and_is_reported()
    {
        var ended = new WaitSignal("the backend's connection ended");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WaitForEndAsync();
                ended.Set();
            },
            async tunnel =>
            {
                var (head, _) = await tunnel.ExchangeAsync("/");
                Assert.Equal((504, "backend-timeout"), (head.StatusCode, head["Tunnel2-Error"]));
                await ended.WaitAsync();
            },
            new TunnelSetup { Settings = ["Timeouts:BackendHeaders=1s"] });
    }

    [Fact]
    public async Task The_limit_for_the_answers_head_begins_when_the_request_has_been_sent()
    {
        await TunnelFixture.RunAsync(
            async connection =>
            {
                var head = await connection.ReadHeadAsync();
                var body = await connection.ReadBodyAsync(head);
                if (head.Target == "/late")
                {
                    await connection.WaitForEndAsync();
                    return;
                }

                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {body.Bytes.Length}\r\n\r\n{body.Text()}");
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 2\r\n\r\na");

                // Another request shows that the limit, and the second in which limits are looked at, have passed.
                var (late, _) = await tunnel.ExchangeAsync("/late");
                Assert.Equal(504, late.StatusCode);
                await visitor.WriteAsync("b");
                var head = await visitor.ReadHeadAsync();
                Assert.Equal(200, head.StatusCode);
                Assert.Equal("ab", (await visitor.ReadBodyAsync(head)).Text());
            },
            new TunnelSetup { Settings = ["Timeouts:BackendHeaders=2s"] });
    }

    [Fact]
    public async Task A_download_that_stalls_is_cut()
    {
        var ended = new WaitSignal("the backend's connection ended");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
                await connection.WaitForEndAsync();
                ended.Set();
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
                Assert.Equal(200, head.StatusCode);
                Assert.Equal(("hello", ConnectionEnding.Fin), (body.Text(), body.Ending));
                await ended.WaitAsync();
            },
            new TunnelSetup { Settings = ["Timeouts:BodyIdle=100ms"] });
    }

    [Theory]
    [InlineData("Content-Length: 10\r\n\r\nhello")]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")]
    public async Task An_upload_that_the_visitor_does_not_continue_with_is_cut_and_the_backend_never_takes_it_for_whole(string request)
    {
        var ended = new WaitSignal("the backend's connection ended");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                var head = await connection.ReadHeadAsync();
                var body = await connection.ReadBodyAsync(head);
                Assert.Equal("hello", body.Text());
                Assert.NotEqual(ConnectionEnding.Complete, body.Ending);
                ended.Set();
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n{request}");
                var head = await visitor.ReadHeadAsync();
                Assert.Equal((408, "request-timeout"), (head.StatusCode, head["Tunnel2-Error"]));
                await ended.WaitAsync();
            },
            new TunnelSetup { Settings = ["Timeouts:BodyIdle=1s"] });
    }

    [Fact]
    public Task An_upgraded_connection_may_be_silent_for_longer_than_the_limits() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/upgrade/raw", TunnelFixture.Host, fields: "Connection: Upgrade\r\nUpgrade: echo-raw\r\n");
            Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);

            // A request that is cut for its silence shows that the limits have passed.
            var (late, _) = await tunnel.ExchangeAsync("/delay/100000");
            Assert.Equal(504, late.StatusCode);
            await visitor.WriteAsync("still here");
            Assert.Equal("still here"u8.ToArray(), await visitor.ReadExactlyAsync(10));
        },
        new TunnelSetup { Settings = ["Timeouts:BodyIdle=2s", "Timeouts:BackendHeaders=2s"] });
}
