using System.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

[Trait("Engine", "each")]
public sealed class AbortTests
{
    private static readonly TimeSpan _second = TimeSpan.FromSeconds(1);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task A_visitor_that_leaves_while_it_waits_is_gone_for_the_backend_too(bool reset) => TunnelFixture.RunAsync(async tunnel =>
    {
        await Promptness.AssertWithinAsync(_second, async number =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/delay/100000", TunnelFixture.Host);
            await tunnel.Backend.WaitForArrivalAsync("/delay/100000", number + 1);
            var left = Stopwatch.GetTimestamp();
            Leave(visitor, reset);
            await tunnel.Backend.WaitForAbortAsync("/delay/100000", number + 1);
            return left;
        });
    });

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task A_visitor_that_leaves_in_a_download_stops_it(bool reset) => TunnelFixture.RunAsync(async tunnel =>
    {
        await Promptness.AssertWithinAsync(_second, async number =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/bytes/1000000000", TunnelFixture.Host);
            await visitor.ReadHeadAsync();
            await visitor.ReadExactlyAsync(1_000_000);
            var left = Stopwatch.GetTimestamp();
            Leave(visitor, reset);
            await tunnel.Backend.WaitForCompletionAsync("/bytes/1000000000", number + 1);
            return left;
        });
    });

    [Theory]
    [InlineData(true, "Content-Length: 1000000")]
    [InlineData(false, "Content-Length: 1000000")]
    [InlineData(true, "Transfer-Encoding: chunked")]
    [InlineData(false, "Transfer-Encoding: chunked")]
    public async Task A_visitor_that_leaves_in_an_upload_leaves_no_whole_request_behind(bool reset, string framing)
    {
        var arrived = new WaitSignal("the first bytes arrived");
        var ended = new WaitSignal("the backend saw the end");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                var head = await connection.ReadHeadAsync();
                var body = connection.OpenBody(head);
                Assert.Equal(5, await body.ReadAsync(new byte[5]));
                arrived.Set();
                Assert.Equal(0, await body.ReadAsync(new byte[5]));
                Assert.NotEqual(ConnectionEnding.Complete, body.Ending);
                ended.Set();
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                var body = framing.StartsWith('C') ? "hello" : "5\r\nhello\r\n";
                await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n{framing}\r\n\r\n{body}");
                await arrived.WaitAsync();
                Leave(visitor, reset);
                await ended.WaitAsync();
            });
    }

    [Theory]
    [InlineData("zz\r\n")]
    [InlineData("5\r\nhelloXX")]
    [InlineData("-1\r\n")]
    public async Task A_visitor_that_breaks_its_bodys_coding_leaves_no_whole_request_behind(string rest)
    {
        var arrived = new WaitSignal("the first chunk arrived");
        var ended = new WaitSignal("the backend saw the end");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                var body = connection.OpenBody(await connection.ReadHeadAsync());
                Assert.Equal(5, await body.ReadAsync(new byte[5]));
                arrived.Set();
                while (await body.ReadAsync(new byte[100]) > 0)
                {
                    // A chunk that is whole may still pass.
                }

                Assert.NotEqual(ConnectionEnding.Complete, body.Ending);
                ended.Set();
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync(
                    $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
                await arrived.WaitAsync();
                await visitor.WriteAsync(rest);
                var head = await visitor.ReadHeadAsync();
                Assert.Equal((400, "bad-request"), (head.StatusCode, head["Tunnel2-Error"]));
                await ended.WaitAsync();
            });
    }

    [Fact]
    public Task A_hundred_visitors_that_leave_at_once_leave_nothing_behind() => TunnelFixture.RunAsync(async tunnel =>
    {
        var visitors = await Task.WhenAll(Enumerable.Range(0, 100).Select(async i =>
        {
            var visitor = await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
            await visitor.WriteAsync(i % 2 == 0
                ? $"GET /bytes/1000000000 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n\r\n"
                : $"POST /sink HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 1000000\r\n\r\n{new string('x', 50_000)}");
            return visitor;
        }));
        await tunnel.Backend.WaitForArrivalAsync("/bytes/1000000000", 50);
        await tunnel.Backend.WaitForArrivalAsync("/sink", 50);
        foreach (var visitor in visitors)
        {
            visitor.Reset();
        }

        await tunnel.Backend.WaitForCompletionAsync("/bytes/1000000000", 50);
        await tunnel.Backend.WaitForCompletionAsync("/sink", 50);
        var (head, body) = await tunnel.ExchangeAsync("/bytes/10000000");
        Assert.Equal((200, 10_000_000), (head.StatusCode, body.Bytes.Length));
    });

    private static void Leave(RawHttpClient visitor, bool reset)
    {
        if (reset)
        {
            visitor.Reset();
        }
        else
        {
            visitor.Socket.Close();
        }
    }
}
