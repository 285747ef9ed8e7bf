using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;

namespace Tunnel2.Multiplexing.Tests.Streams;

public sealed class ReadyStreamChannelTests
{
    private readonly ManualScheduler _scheduler = new();
    private readonly ReadyStreamChannel _channel;
    private bool _inline;

    public ReadyStreamChannelTests() => _channel = new ReadyStreamChannel(_scheduler, () => _inline);

    [Fact]
    public async Task What_is_ready_is_read_in_its_order_without_a_wait()
    {
        var (first, second) = (IdleStreams.New(), IdleStreams.New());
        Assert.True(_channel.Writer.TryWrite(first));
        Assert.True(_channel.Writer.TryWrite(second));
        Assert.Equal(2, _channel.Count);
        var wait = _channel.Reader.WaitToReadAsync().AsTask();
        Assert.True(wait.IsCompleted);
        Assert.True(await wait);
        Assert.Equal([first, second, null], [Read(), Read(), Read()]);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_reader_that_waits_is_woken_where_it_wants_to_be(bool inline)
    {
        _inline = inline;
        var wait = _channel.Reader.WaitToReadAsync().AsTask();
        Assert.False(wait.IsCompleted);
        _channel.Writer.TryWrite(IdleStreams.New());
        Assert.Equal(inline, wait.IsCompleted);
        Assert.Equal(inline ? 0 : 1, _scheduler.RunAll());
        Assert.True(await wait);
    }

    [Fact]
    public async Task Two_signals_wake_once()
    {
        var wait = _channel.Reader.WaitToReadAsync().AsTask();
        _channel.Signal();
        _channel.Signal();
        Assert.Equal(1, _scheduler.RunAll());
        Assert.True(await wait);
        Assert.Null(Read());

        // The second came while no loop waited: the next wait is over at once, and the one after it is not.
        wait = _channel.Reader.WaitToReadAsync().AsTask();
        Assert.True(wait.IsCompleted);
        Assert.True(await wait);
        var last = _channel.Reader.WaitToReadAsync().AsTask();
        Assert.False(last.IsCompleted);
    }

    [Fact]
    public async Task The_end_drops_what_waits_and_takes_no_more()
    {
        var wait = _channel.Reader.WaitToReadAsync().AsTask();
        Assert.True(_channel.Writer.TryComplete());
        Assert.Equal(1, _scheduler.RunAll());
        Assert.False(await wait);
        Assert.False(_channel.Writer.TryWrite(IdleStreams.New()));
        Assert.False(_channel.Writer.TryComplete());
        Assert.False(await _channel.Reader.WaitToReadAsync());
        Assert.Equal(0, _channel.Count);
    }

    [Fact]
    public async Task What_is_queued_when_it_ends_is_gone()
    {
        _channel.Writer.TryWrite(IdleStreams.New());
        Assert.True(await _channel.Writer.WaitToWriteAsync());
        _channel.Writer.TryComplete();
        Assert.Null(Read());
        Assert.False(await _channel.Writer.WaitToWriteAsync());
    }

    private TunnelStream? Read() => _channel.Reader.TryRead(out var stream) ? stream : null;
}
