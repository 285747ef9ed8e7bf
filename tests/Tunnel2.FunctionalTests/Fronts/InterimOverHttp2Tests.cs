using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>Interim responses to visitors of HTTP/2, which Kestrel cannot send: between its frames, and in its compression.</summary>
[Trait("Engine", "each")]
public sealed class InterimOverHttp2Tests
{
    private const int Streams = 40;
    private const int LargeBody = 300_000;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task They_come_before_the_answer_as_soon_as_the_service_sends_them(bool isTls)
    {
        var seen = new WaitSignal("the visitor has the interim response");
        await FrontVisitor.RunRawAsync(
            [],
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(
                    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nlink: </b>\r\nX-Empty:\r\nConnection: x-hop\r\n\r\n");
                await seen.WaitAsync();
                await connection.WriteAsync("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nX-Final: 1\r\nContent-Length: 2\r\n\r\nok");
                await connection.WaitForEndAsync();
            },
            async tunnel =>
            {
                await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
                var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls), end: true);
                await stream.InterimCount.WaitForAsync(1);
                Assert.Equal([(":status", "103"), ("link", "</a>"), ("link", "</b>"), ("x-empty", "")], stream.Interims[0]);
                seen.Set();
                var answer = await stream.ReadWholeAsync();
                Assert.Equal((200, "ok", "1", null), (answer.Status, answer.Body, answer["x-final"], answer.GoAway));
                Assert.Equal([(":status", "102")], stream.Interims[1]);
            });
    }

    /// <summary>Frames of large answers and interim responses of other streams meet on one connection.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task They_never_break_into_the_frames_of_other_streams(bool isTls) => FrontVisitor.RunRawAsync(
        [],
        static async connection =>
        {
            // All of them together find room while one flush waits: more would be dropped.
            var link = $"HTTP/1.1 103 Early Hints\r\nLink: <{new string('l', 300)}>\r\n\r\n";
            while (true)
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(link + link + link);
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {LargeBody}\r\n\r\n");
                await connection.WriteAsync(PatternBytes.Window(0, LargeBody).ToArray());
            }
        },
        async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
            var streams = await Task.WhenAll(
                Enumerable.Range(0, Streams).Select(_ => visitor.OpenAsync(Http2Visitor.Request(isTls), end: true)));
            foreach (var stream in streams)
            {
                var body = await stream.ReadToEndAsync();
                Assert.Equal(LargeBody, body.Length);
                PatternBytes.Verify(body, 0);
                Assert.Equal(3, stream.Interims.Count);
                Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
            }

            Assert.Null(visitor.GoAwayCode);
        });

    [Fact]
    public Task One_that_is_larger_than_a_frame_comes_whole() => FrontVisitor.RunRawAsync(
        [],
        static async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(
                $"HTTP/1.1 103 Early Hints\r\nX-A: {new string('a', 15_000)}\r\nX-B: {new string('b', 15_000)}\r\n\r\n");
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            await connection.WaitForEndAsync();
        },
        static async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var stream = await visitor.SendAsync(Http2Visitor.Request(isTls: false));
            Assert.Equal("ok", (await stream.ReadWholeAsync()).Body);
            Assert.Equal([3, 15_000, 15_000], Assert.Single(stream.Interims).Select(static field => field.Value.Length));
        });

    /// <summary>Kestrel sends the 100 itself, once.</summary>
    [Fact]
    public Task A_visitor_that_expects_a_100_gets_one() => FrontVisitor.RunRawAsync(
        [],
        static async connection =>
        {
            var head = await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
            var body = await connection.ReadBodyAsync(head);
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {body.Bytes.Length}\r\n\r\n{body.Text}");
            await connection.WaitForEndAsync();
        },
        static async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var stream = await visitor.OpenAsync(
                Http2Visitor.Request(isTls: false, method: "POST", fields: [("expect", "100-continue"), ("content-length", "4")]));
            await stream.InterimCount.WaitForAsync(2);
            Assert.Equal(["103", "100"], stream.Interims.Select(static interim => interim[0].Value));
            await stream.WriteAsync("body"u8.ToArray(), end: true);
            Assert.Equal("body", (await stream.ReadWholeAsync()).Body);
            Assert.Equal(2, stream.Interims.Count);
        });

    [Fact]
    public Task A_visitor_that_has_left_gets_none_and_its_connection_lives() => FrontVisitor.RunRawAsync(
        [],
        static async connection =>
        {
            var head = await connection.ReadHeadAsync();
            if (head.Target == "/next")
            {
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext");
                return;
            }

            await connection.WriteAsync("HTTP/1.1 103 Early Hints\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        static async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            for (var i = 0; i < 20; i++)
            {
                var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false), end: true);
                if (i % 2 == 0)
                {
                    await stream.InterimCount.WaitForAsync(1);
                }

                await stream.ResetAsync(8);
                var next = await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false, path: "/next"));
                Assert.Equal((200, "next"), (next.Status, next.Body));
            }
        });
}
