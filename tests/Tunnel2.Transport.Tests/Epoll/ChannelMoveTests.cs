using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>A connection that waits without a buffer moves from one loop to another, and its wait with it.</summary>
public sealed class ChannelMoveTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _first = new(number: 0);
    private readonly EpollLoop _second = new(number: 1);

    public void Dispose()
    {
        _first.Dispose();
        _second.Dispose();
    }

    [Fact]
    public async Task A_wait_that_began_on_the_one_loop_ends_on_the_other()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var channel = EpollChannel.AdoptUplink(_first, left);
            var waiting = WaitAsync(channel);
            Assert.True(channel.TryMoveTo(_second));
            Assert.Equal((0, 1), (_first.HandleCount, _second.HandleCount));
            Assert.Same(_second, channel.Home);
            Assert.False(waiting.IsCompleted);
            await right.SendAsync(new byte[3]);
            Assert.True(await waiting.WaitAsync(_limit));
            Assert.Equal(3, await channel.ReceiveAsync(new byte[10]));
            await channel.DisposeAsync();
            Assert.Equal(0, _second.HandleCount);
        }

        async Task<bool> WaitAsync(EpollChannel channel)
        {
            await channel.ReceiveAsync(Memory<byte>.Empty).ConfigureAwait(false);
            return _second.IsCurrent;
        }
    }

    [Fact]
    public async Task What_came_before_the_move_is_reported_after_it()
    {
        for (var i = 0; i < 100; i++)
        {
            var (left, right) = await LoopbackPair.ConnectAsync();
            using (right)
            {
                var channel = EpollChannel.AdoptUplink(_first, left);
                var waiting = channel.ReceiveAsync(Memory<byte>.Empty).AsTask();
                var sending = right.SendAsync(new byte[5]);
                Assert.True(channel.TryMoveTo(i % 2 == 0 ? _second : _first));
                await sending;
                await waiting.WaitAsync(_limit);
                Assert.Equal(5, await channel.ReceiveAsync(new byte[10]).AsTask().WaitAsync(_limit));
                await channel.DisposeAsync();
            }
        }
    }

    [Fact]
    public async Task It_stays_while_bytes_are_under_way_and_once_it_is_closed()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var channel = EpollChannel.AdoptUplink(_first, left);
            var receiving = channel.ReceiveAsync(new byte[10]).AsTask();
            Assert.False(channel.TryMoveTo(_second));
            await right.SendAsync(new byte[1]);
            Assert.Equal(1, await receiving.WaitAsync(_limit));

            var sending = channel.SendAsync(new byte[64 * 1024 * 1024]).AsTask();
            Assert.False(sending.IsCompleted);
            Assert.False(channel.TryMoveTo(_second));
            channel.Abort();
            await Assert.ThrowsAsync<IOException>(() => sending.WaitAsync(_limit));
            Assert.False(channel.TryMoveTo(_second));
            Assert.Equal((0, 0), (_first.HandleCount, _second.HandleCount));
        }
    }

    [Fact]
    public async Task A_loop_that_has_ended_takes_no_connection_and_what_waits_fails()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var channel = EpollChannel.AdoptUplink(_first, left);
            var waiting = channel.ReceiveAsync(Memory<byte>.Empty).AsTask();
            _second.Dispose();
            Assert.False(channel.TryMoveTo(_second));
            await Assert.ThrowsAsync<IOException>(() => waiting.WaitAsync(_limit));
            Assert.Equal(0, _first.HandleCount);
        }
    }
}
