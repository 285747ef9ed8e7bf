using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Requests;

public sealed class ExpectTests
{
    private const string Head = $"POST /x HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";

    [Fact]
    public async Task A_visitor_sends_its_body_when_the_backend_says_so()
    {
        var mayContinue = new WaitSignal("the backend may answer 100");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                var head = await connection.ReadHeadAsync();
                Assert.Equal("100-continue", head["Expect"]);
                await mayContinue.WaitAsync();
                await connection.WriteAsync("HTTP/1.1 100 Continue\r\n\r\n");
                var body = await connection.ReadBodyAsync(head);
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body.Text()}");
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync(Head);
                await tunnel.RawBackend.ConnectionsAccepted.WaitForAsync(1);
                mayContinue.Set();
                Assert.Equal("HTTP/1.1 100 Continue", (await visitor.ReadHeadAsync()).StartLine);
                await visitor.WriteAsync("hello");
                var head = await visitor.ReadHeadAsync();
                Assert.Equal(200, head.StatusCode);
                Assert.Equal("hello", (await visitor.ReadBodyAsync(head)).Text());
            });
    }

    [Theory]
    [InlineData(413)]
    [InlineData(417)]
    [InlineData(200)]
    public Task A_final_answer_comes_without_a_100_before_it(int status) => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync($"HTTP/1.1 {status} Whatever\r\nContent-Length: 2\r\n\r\nno");
            Assert.NotEqual(ConnectionEnding.Open, await connection.WaitForEndAsync());
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(Head);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(status, head.StatusCode);
            Assert.Equal("no", (await visitor.ReadBodyAsync(head)).Text());

            // The body was never sent, so the backend must not be asked again on that connection.
            await tunnel.RawBackend.ConnectionsDone.WaitForAsync(1);
        });

    [Fact]
    public async Task A_backend_that_never_says_100_gets_the_body_after_a_second()
    {
        var time = new ManualTimeProvider();
        var reached = new WaitSignal("the head reached the backend");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                var head = await connection.ReadHeadAsync();
                reached.Set();
                var body = await connection.ReadBodyAsync(head);
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body.Text()}");
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                var waits = time.SetFor(TimeSpan.FromSeconds(1));
                var before = waits.Value;
                await visitor.WriteAsync(Head);
                await reached.WaitAsync();
                await waits.WaitForAsync(before + 1);
                time.Advance(TimeSpan.FromSeconds(1));
                Assert.Equal("HTTP/1.1 100 Continue", (await visitor.ReadHeadAsync()).StartLine);
                await visitor.WriteAsync("hello");
                var head = await visitor.ReadHeadAsync();
                Assert.Equal("hello", (await visitor.ReadBodyAsync(head)).Text());
            },
            new TunnelSetup { EntryTime = time });
    }

    [Fact]
    public Task The_visitors_own_client_may_wait_for_the_100() => TunnelFixture.RunAsync(async tunnel =>
    {
        var client = tunnel.CreateClient();
        using var request = new HttpRequestMessage(HttpMethod.Post, "/expect") { Content = new ByteArrayContent(new byte[100_000]) };
        request.Headers.ExpectContinue = true;
        using var response = await client.SendAsync(request);
        Assert.Equal("{\"bytes\":100000}", await response.Content.ReadAsStringAsync());
        using var refused = new HttpRequestMessage(HttpMethod.Post, "/expect?reject=1")
        {
            Content = new ByteArrayContent(new byte[100_000]),
        };
        refused.Headers.ExpectContinue = true;
        using var refusal = await client.SendAsync(refused);
        Assert.Equal(413, (int)refusal.StatusCode);
        Assert.Equal("rejected before the body was read\n", await refusal.Content.ReadAsStringAsync());
    });
}
