using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Responses;

public sealed class EarlyResponseTests
{
    [Theory]
    [InlineData("Content-Length: 1000000000", "")]
    [InlineData("Transfer-Encoding: chunked", "80000\r\n")]
    public Task An_answer_before_the_end_of_the_request_reaches_the_visitor_and_the_rest_is_not_sent(
        string framing, string prefix) => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 413 Too much\r\nContent-Length: 8\r\n\r\ntoo much");
            Assert.NotEqual(ConnectionEnding.Open, await connection.WaitForEndAsync());
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n{framing}\r\n\r\n{prefix}{new string('x', 1000)}");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(413, head.StatusCode);
            var body = await visitor.ReadBodyAsync(head);
            Assert.Equal(("too much", ConnectionEnding.Complete), (body.Text(), body.Ending));

            // The backend's connection is in the middle of a request: it ends, and the next request has a new one.
            await tunnel.RawBackend.ConnectionsDone.WaitForAsync(1);
            var (next, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal(413, next.StatusCode);
        });

    [Fact]
    public async Task A_visitor_that_is_held_up_in_its_upload_still_gets_the_answer()
    {
        var arrived = new WaitSignal("the request is at the backend");
        var answer = new WaitSignal("the backend answers");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                arrived.Set();
                await answer.WaitAsync();
                await connection.WriteAsync("HTTP/1.1 507 Full\r\nContent-Length: 4\r\n\r\nfull");
                await connection.WaitForEndAsync();
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync($"PUT / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 1000000000\r\n\r\n");
                var sending = SendUntilEndAsync(visitor);
                await arrived.WaitAsync();
                answer.Set();
                var head = await visitor.ReadHeadAsync();
                Assert.Equal(507, head.StatusCode);
                Assert.Equal("full", (await visitor.ReadBodyAsync(head)).Text());
                visitor.Reset();
                await sending;
            });
    }

    private static async Task SendUntilEndAsync(RawHttpClient visitor)
    {
        try
        {
            for (var i = 0; i < 1000; i++)
            {
                await visitor.WriteAsync(PatternBytes.Window(0, 1_000_000));
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The entry or the visitor had enough.
        }
    }
}
