using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades.Http2;

/// <summary>WebSockets and requests on one connection of HTTP/2: each waits for itself alone.</summary>
[Trait("Engine", "each")]
public sealed class SharedConnectionTests
{
    private const int Length = 4_000_000;

    /// <summary>More than the kernel takes for a backend that does not read.</summary>
    private const int UnreadLength = 12_000_000;

    /// <summary>A hundred of them are more than a connection's window.</summary>
    private const int Round = 100_000;

    [Theory]
    [InlineData("HTTP/2 over TLS")]
    [InlineData("HTTP/2 by preface")]
    public Task A_visitor_that_does_not_read_one_WebSocket_has_the_others_and_its_requests(string kind) => Http2Tunnel.RunAsync(
        kind,
        connection => ServeAsync(connection, async () =>
        {
            for (var sent = 0; sent < Length; sent += 10_000)
            {
                await connection.WriteAsync(PatternBytes.Window(sent, 10_000));
            }

            await connection.CloseAsync();
        }),
        async (visitor, _) =>
        {
            visitor.ReadsNewStreams = false;
            var stalled = await visitor.ConnectAsync("/stalled", Http2Tunnel.Scheme(kind));
            visitor.ReadsNewStreams = true;
            await stalled.ReadHeadAsync();
            await stalled.ReceivedBytes.WaitForAsync(65_535);

            await AssertOthersGoOnAsync(visitor, kind);

            Assert.Equal(65_535, stalled.Received);
            await stalled.ReadOnAsync();
            var bytes = await stalled.ReadToEndAsync();
            Assert.Equal(Length, bytes.Length);
            PatternBytes.Verify(bytes, 0);
            await stalled.WriteAsync(default, end: true);
        });

    [Fact]
    public async Task A_backend_that_does_not_read_some_WebSockets_holds_up_their_visitor_and_no_other_stream()
    {
        var goOn = new WaitSignal("the backend reads on");
        await Http2Tunnel.RunAsync(
            "HTTP/2 by preface",
            connection => ServeAsync(connection, async () =>
            {
                await goOn.WaitAsync();
                var bytes = await connection.ReadToEndAsync();
                Assert.Equal(UnreadLength, bytes.Length);
                PatternBytes.Verify(bytes, 0);
                await connection.CloseAsync();
            }),
            async (visitor, tunnel) =>
            {
                var bytes = new byte[UnreadLength];
                PatternBytes.Fill(bytes, 0);
                var stalled = new List<(Http2VisitorStream Stream, Task Sending)>();
                for (var i = 0; i < 3; i++)
                {
                    var stream = await visitor.ConnectAsync("/stalled", "http");
                    await stream.ReadHeadAsync();
                    stalled.Add((stream, visitor.SendDataAsync(stream, bytes, end: true)));
                }

                await WaitSignal.UntilAsync(() => stalled.All(static one => one.Stream.Window == 0), "all credit of the streams is used");
                await AssertOthersGoOnAsync(visitor, "HTTP/2 by preface");
                Assert.All(stalled, static one => Assert.False(one.Sending.IsCompleted));
                goOn.Set();
                foreach (var (stream, sending) in stalled)
                {
                    await sending;
                    Assert.Empty(await stream.ReadToEndAsync());
                }
            });
    }

    [Fact]
    public Task What_a_WebSocket_sends_is_no_body_whose_length_is_limited() => Http2Tunnel.RunAsync(
        "HTTP/2 by preface",
        connection => ServeAsync(connection, () => Task.CompletedTask),
        async (visitor, _) => await AssertOthersGoOnAsync(visitor, "HTTP/2 by preface"),
        "Limits:RequestBodyBytes=1000");

    /// <summary>
    /// The paths: /stalled does what the test says behind the switch, /echo sends back until the visitor has said all, others answer.
    /// </summary>
    private static async Task ServeAsync(RawConnection connection, Func<Task> stalled)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            switch (head.Target)
            {
                case "/stalled":
                    await AgreeAsync(connection, head);
                    await stalled();
                    return;
                case "/echo":
                    await AgreeAsync(connection, head);
                    var buffer = new byte[16 * 1024];
                    while (await connection.ReadAsync(buffer) is > 0 and var count)
                    {
                        await connection.WriteAsync(buffer.AsMemory(0, count));
                    }

                    await connection.CloseAsync();
                    return;
                default:
                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain");
                    break;
            }
        }
    }

    private static Task AgreeAsync(RawConnection connection, RawHttpHead head) =>
        connection.WriteAsync(
            $"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                + $"Sec-WebSocket-Accept: {Http2Tunnel.Accept(head)}\r\n\r\n");

    private static async Task AssertOthersGoOnAsync(Http2Visitor visitor, string kind)
    {
        var other = await visitor.ConnectAsync("/echo", Http2Tunnel.Scheme(kind));
        Assert.Equal(200, (await other.ReadAnswerAsync()).Status);
        var echo = new byte[Round];
        for (var i = 0; i < 100; i++)
        {
            PatternBytes.Fill(echo, i * Round);
            await other.WriteAsync(echo);
            PatternBytes.Verify(await other.ReadAsync(Round), i * Round);
            if (i % 10 != 0)
            {
                continue;
            }

            var request = await visitor.OpenAsync(
                [(":method", "GET"), (":scheme", Http2Tunnel.Scheme(kind)), (":authority", TunnelFixture.Host), (":path", "/plain")],
                end: true);
            Assert.Equal("plain", Encoding.ASCII.GetString(await request.ReadToEndAsync()));
        }

        await other.WriteAsync(default, end: true);
        Assert.Empty(await other.ReadToEndAsync());
    }
}
