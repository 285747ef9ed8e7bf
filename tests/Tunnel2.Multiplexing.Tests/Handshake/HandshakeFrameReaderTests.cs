using System.IO.Pipelines;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Handshake;

public class HandshakeFrameReaderTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly InMemoryTransport _ours;
    private readonly InMemoryTransport _theirs;

    public HandshakeFrameReaderTests() => (_ours, _theirs) = InMemoryTransport.CreatePair(100_000, PipeScheduler.ThreadPool);

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(30)]
    public async Task A_frame_cut_at_any_point_is_read_and_what_follows_is_kept(int rest)
    {
        var hello = Frame.Make(FrameType.Hello, FrameFlags.None, StreamId.Uplink, Pattern.Make(1, 60));
        byte[] bytes = [.. hello, .. Pattern.Make(2, rest)];
        for (var cut = 1; cut < bytes.Length; cut++)
        {
            var (ours, theirs) = InMemoryTransport.CreatePair(1000, PipeScheduler.ThreadPool);
            var reading = ReadAsync(ours);
            await theirs.SendAsync(bytes.AsMemory(0, cut));
            if (cut < hello.Length)
            {
                Assert.False(reading.IsCompleted);
                await theirs.SendAsync(bytes.AsMemory(cut));
            }

            var result = await reading.WaitAsync(TimeSpan.FromSeconds(10));
            Assert.Equal(HandshakeReadStatus.Frame, result.Status);
            Assert.Equal(FrameType.Hello, result.Type);
            Pattern.Check(result.Payload.Span, 1, 0);
            Assert.Equal(60, result.Payload.Length);
            Pattern.Check(result.Rest.Span, 2, 0);
            Assert.InRange(result.Rest.Length, cut < hello.Length ? 0 : cut - hello.Length, rest);
        }
    }

    [Theory]
    [InlineData(FrameType.Hello, ProtocolLimits.MaxHelloLength)]
    [InlineData(FrameType.Join, ProtocolLimits.MaxJoinLength)]
    public async Task The_longest_frame_is_read(FrameType type, int length)
    {
        _ours.Incoming.Tear(new Random(3));
        var reading = ReadAsync(_ours);
        await _theirs.SendAsync(Frame.Make(type, FrameFlags.None, StreamId.Uplink, Pattern.Make(7, length)));
        var result = await reading.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(HandshakeReadStatus.Frame, result.Status);
        Assert.Equal(length, result.Payload.Length);
        Pattern.Check(result.Payload.Span, 7, 0);
        Assert.Equal(8, result.FirstBytes.Length);
    }

    [Fact]
    public async Task A_frame_that_announces_16_MiB_is_refused_before_it_comes()
    {
        var reading = ReadAsync(_ours);
        await _theirs.SendAsync(Frame.Announce(FrameType.Hello, FrameFlags.None, StreamId.Uplink, (1 << 24) - 1));
        var result = await reading.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(HandshakeReadStatus.Malformed, result.Status);
        Assert.Equal(ProtocolError.FrameTooLong, result.Error);
    }

    [Fact]
    public async Task The_memory_grows_with_what_came_and_not_with_what_was_announced()
    {
        var reading = ReadAsync(_ours);
        await _theirs.SendAsync(Frame.Announce(FrameType.Hello, FrameFlags.None, StreamId.Uplink, ProtocolLimits.MaxHelloLength));
        await _theirs.SendAsync(new byte[500]);
        _theirs.ShutdownSend();
        Assert.Equal(HandshakeReadStatus.Closed, (await reading.WaitAsync(TimeSpan.FromSeconds(10))).Status);
        Assert.InRange(_ours.ReceiveRoom, 1, 1024);
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n")]
    [InlineData("SSH-2.0-OpenSSH_9.6\r\n")]
    [InlineData("\u0016\u0003\u0001\u0002\0\u0001\0\u0001")]
    public async Task What_else_speaks_here_is_malformed_and_its_first_bytes_are_kept(string text)
    {
        var reading = ReadAsync(_ours);
        await _theirs.SendAsync(System.Text.Encoding.Latin1.GetBytes(text));
        var result = await reading.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(HandshakeReadStatus.Malformed, result.Status);
        Assert.NotEqual(ProtocolError.None, result.Error);
        Assert.Equal(text[..8], System.Text.Encoding.Latin1.GetString(result.FirstBytes.Span));
    }

    [Fact]
    public async Task A_frame_of_another_type_is_not_a_handshake()
    {
        var reading = ReadAsync(_ours);
        await _theirs.SendAsync(Frame.Ping(1));
        var result = await reading.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal((HandshakeReadStatus.Malformed, ProtocolError.HandshakeExpected), (result.Status, result.Error));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(5)]
    [InlineData(20)]
    public async Task A_peer_that_falls_silent_is_given_up_when_the_time_is_over(int spoken)
    {
        var reading = ReadAsync(_ours);
        if (spoken > 0)
        {
            await _theirs.SendAsync(Frame.Make(FrameType.Hello, FrameFlags.None, StreamId.Uplink, new byte[60]).AsMemory(0, spoken));
        }

        _time.Advance(TimeSpan.FromSeconds(9.9));
        Assert.False(reading.IsCompleted);
        _time.Advance(TimeSpan.FromSeconds(0.1));
        var result = await reading.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(HandshakeReadStatus.TimedOut, result.Status);
        await Assert.ThrowsAsync<IOException>(async () => await _theirs.ReceiveAsync(new byte[1]));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(5)]
    [InlineData(20)]
    public async Task A_peer_that_closes_early_has_closed(int spoken)
    {
        var reading = ReadAsync(_ours);
        if (spoken > 0)
        {
            await _theirs.SendAsync(Frame.Make(FrameType.Hello, FrameFlags.None, StreamId.Uplink, new byte[60]).AsMemory(0, spoken));
        }

        _theirs.ShutdownSend();
        var result = await reading.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(HandshakeReadStatus.Closed, result.Status);
        Assert.Equal(0, _time.ArmedTimers.Value);
    }

    [Fact]
    public async Task Giving_up_early_closes()
    {
        using var cancellation = new CancellationTokenSource();
        var reading = ReadAsync(_ours, cancellation.Token);
        await cancellation.CancelAsync();
        Assert.Equal(HandshakeReadStatus.Closed, (await reading.WaitAsync(TimeSpan.FromSeconds(10))).Status);
    }

    private Task<HandshakeReadResult> ReadAsync(
        InMemoryTransport transport, CancellationToken cancellationToken = default) => HandshakeFrameReader.ReadAsync(
        transport, type => type is FrameType.Hello or FrameType.Join, ProtocolLimits.HandshakeTimeout, _time, cancellationToken);
}
