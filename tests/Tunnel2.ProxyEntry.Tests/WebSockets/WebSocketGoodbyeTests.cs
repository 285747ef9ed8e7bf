using Tunnel2.ProxyEntry.WebSockets;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.WebSockets;

public sealed class WebSocketGoodbyeTests
{
    private static readonly byte[] _close = [0x88, 0x02, 0x03, 0xE9];
    private static readonly byte[] _hello = [0x81, 0x05, .. "hello"u8];

    [Fact]
    public async Task A_silent_socket_gets_its_close_frame_at_once()
    {
        using var leaving = new CancellationTokenSource();
        var visitor = new RecordingVisitor();
        await using (new WebSocketGoodbye(visitor, leaving.Token))
        {
            await leaving.CancelAsync();
        }

        Assert.Equal(_close, visitor.ToArray());
    }

    [Fact]
    public async Task A_frame_that_is_half_sent_is_finished_first_and_nothing_follows_the_close()
    {
        using var leaving = new CancellationTokenSource();
        var visitor = new RecordingVisitor();
        await using var goodbye = new WebSocketGoodbye(visitor, leaving.Token);
        await PumpAsync(goodbye, visitor, _hello[..3]);

        await leaving.CancelAsync();

        Assert.Equal(_hello[..3], visitor.ToArray());
        await PumpAsync(goodbye, visitor, _hello[3..4]);
        await PumpAsync(goodbye, visitor, [.. _hello[4..], .. _hello]);
        await PumpAsync(goodbye, visitor, _hello);
        Assert.Equal([.. _hello, .. _close], visitor.ToArray());
    }

    [Fact]
    public async Task A_goodbye_that_is_wanted_while_bytes_are_written_follows_them()
    {
        using var leaving = new CancellationTokenSource();
        var visitor = new RecordingVisitor();
        await using var goodbye = new WebSocketGoodbye(visitor, leaving.Token);
        var mayGo = goodbye.BeginWrite(_hello);
        await leaving.CancelAsync();
        Assert.Equal(0, visitor.Length);
        await visitor.SendAsync(_hello.AsMemory(0, mayGo));
        await goodbye.EndWriteAsync();
        Assert.Equal([.. _hello, .. _close], visitor.ToArray());
    }

    [Theory]
    [InlineData(new byte[] { 0x88, 0x02, 0x03, 0xE8 })]
    [InlineData(new byte[] { 0x82, 0x7F, 0xFF, 0, 0, 0, 0, 0, 0, 0, 1 })]
    public async Task Nothing_is_added_behind_a_close_of_the_backends_own_or_to_what_is_no_WebSocket(byte[] bytes)
    {
        using var leaving = new CancellationTokenSource();
        var visitor = new RecordingVisitor();
        await using var goodbye = new WebSocketGoodbye(visitor, leaving.Token);
        await PumpAsync(goodbye, visitor, bytes);
        await leaving.CancelAsync();
        await PumpAsync(goodbye, visitor, _hello);
        Assert.Equal([.. bytes, .. _hello], visitor.ToArray());
    }

    [Fact]
    public async Task A_session_that_was_leaving_before_says_goodbye_right_away()
    {
        var visitor = new RecordingVisitor();
        await using (new WebSocketGoodbye(visitor, new CancellationToken(canceled: true)))
        {
        }

        Assert.Equal(_close, visitor.ToArray());
    }

    [Fact]
    public Task Whenever_it_is_said_the_visitor_sees_whole_frames_and_one_close_at_the_end() => SeededRandom.RunAsync(async random =>
    {
        for (var round = 0; round < 200; round++)
        {
            using var leaving = new CancellationTokenSource();
            var visitor = new RecordingVisitor();
            var sent = 0;
            await using (var goodbye = new WebSocketGoodbye(visitor, leaving.Token))
            {
                var frames = Enumerable.Repeat(_hello, 50).SelectMany(static frame => frame).ToArray();
                var at = random.Next(frames.Length - 20);
                var leave = Task.CompletedTask;
                for (var i = 0; i < frames.Length; i += sent)
                {
                    if (i >= at && leave == Task.CompletedTask)
                    {
                        leave = leaving.CancelAsync();
                    }

                    sent = Math.Min(random.Next(1, 12), frames.Length - i);
                    await PumpAsync(goodbye, visitor, frames[i..(i + sent)]);
                }

                await leave;
            }

            var seen = visitor.ToArray();
            Assert.Equal(_close, seen[^4..]);
            Assert.Equal(0, (seen.Length - 4) % _hello.Length);
            Assert.All(seen[..^4].Chunk(_hello.Length), static frame => Assert.Equal(_hello, frame));
        }
    });

    private static async Task PumpAsync(WebSocketGoodbye goodbye, RecordingVisitor visitor, byte[] bytes)
    {
        var mayGo = goodbye.BeginWrite(bytes);
        await visitor.SendAsync(bytes.AsMemory(0, mayGo));
        await goodbye.EndWriteAsync();
    }
}
