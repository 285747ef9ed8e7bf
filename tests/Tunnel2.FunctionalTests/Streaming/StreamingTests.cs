using System.Diagnostics;
using System.Threading.Channels;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Streaming;

[Trait("Engine", "each")]
public sealed class StreamingTests
{
    private const int Events = 30;

    [Theory]
    [InlineData("Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", true)]
    [InlineData("Content-Type: text/event-stream", false)]
    [InlineData("Content-Type: application/json\r\nContent-Length: 600", false)]
    public async Task Every_event_arrives_before_the_next_one_is_written(string fields, bool chunked)
    {
        var next = Channel.CreateUnbounded<bool>();
        var written = new long[Events];
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
                for (var i = 0; i < Events; i++)
                {
                    await next.Reader.ReadAsync();
                    written[i] = Stopwatch.GetTimestamp();
                    var text = $"data: event {i,5}\n\n\n";
                    await connection.WriteAsync(chunked ? $"{text.Length:x}\r\n{text}\r\n" : text);
                }

                await connection.WriteAsync(chunked ? "0\r\n\r\n" : "");
                await connection.CloseAsync();
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/", TunnelFixture.Host);

                // The head comes before there is any event.
                var head = await visitor.ReadHeadAsync();
                Assert.Equal(200, head.StatusCode);
                var body = visitor.OpenBody(head);
                var buffer = new byte[1000];
                var delays = new List<TimeSpan>();
                for (var i = 0; i < Events; i++)
                {
                    next.Writer.TryWrite(true);
                    var count = 0;
                    while (count < 20)
                    {
                        count += await body.ReadAsync(buffer.AsMemory(count));
                    }

                    delays.Add(Stopwatch.GetElapsedTime(written[i]));
                    Assert.Equal($"data: event {i,5}\n\n\n", System.Text.Encoding.ASCII.GetString(buffer, 0, count));
                }

                Assert.Equal(0, await body.ReadAsync(buffer));
                Assert.Equal(ConnectionEnding.Complete, body.Ending);

                // The median, because this machine has other things to do.
                delays.Sort();
                Assert.InRange(delays[Events / 2], TimeSpan.Zero, TimeSpan.FromMilliseconds(50));
            });
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Every_piece_of_an_upload_arrives_before_the_next_one_is_sent(bool chunked)
    {
        var arrived = Channel.CreateUnbounded<string>();
        await TunnelFixture.RunAsync(
            async connection =>
            {
                var head = await connection.ReadHeadAsync();
                var body = connection.OpenBody(head);
                var buffer = new byte[1000];
                while (await body.ReadAsync(buffer) is > 0 and var count)
                {
                    arrived.Writer.TryWrite(System.Text.Encoding.ASCII.GetString(buffer, 0, count));
                }

                Assert.Equal(ConnectionEnding.Complete, body.Ending);
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync(
                    $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n"
                        + $"{(chunked ? "Transfer-Encoding: chunked" : "Content-Length: 240")}\r\n\r\n");
                for (var i = 0; i < 30; i++)
                {
                    await visitor.WriteAsync(chunked ? $"8\r\n{i:00000000}\r\n" : $"{i:00000000}");
                    Assert.Equal($"{i:00000000}", await arrived.Reader.ReadAsync());
                }

                await visitor.WriteAsync(chunked ? "0\r\n\r\n" : "");
                Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
            });
    }
}
