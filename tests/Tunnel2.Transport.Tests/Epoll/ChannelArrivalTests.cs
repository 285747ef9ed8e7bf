using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>
/// The observer of a quiet connection is called once, for anything that comes; see <see cref="IByteTransport.TryReportArrival"/>.
/// </summary>
public sealed class ChannelArrivalTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();

    public void Dispose() => _loop.Dispose();

    [Fact]
    public async Task Bytes_are_reported_once_and_stay_to_be_received()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var observer = new Observer();
            Assert.True(channel.TryReportArrival(observer));
            Assert.False(observer.Called.IsCompleted);
            await peer.SendAsync(new byte[3]);
            await observer.Called.WaitAsync(_limit);
            await peer.SendAsync(new byte[4]);
            var total = 0;
            while (total < 7)
            {
                total += await channel.ReceiveAsync(new byte[10]).AsTask().WaitAsync(_limit);
            }

            Assert.Equal(1, observer.Count);

            // The second report may have been fetched before its bytes were received, and be handled only now. A look finds nothing left.
            await RoundAsync();
            Assert.True(channel.IsIdleAndOpen());
            var next = new Observer();
            Assert.True(channel.TryReportArrival(next));
            await peer.SendAsync(new byte[1]);
            await next.Called.WaitAsync(_limit);
            Assert.Equal(1, observer.Count);
        }

        channel.Abort();
    }

    [Fact]
    public async Task Bytes_after_an_urgent_one_do_not_wait_for_further_ones()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            for (var round = 0; round < 20; round++)
            {
                await peer.SendAsync("abc"u8.ToArray());
                peer.Send("!"u8, SocketFlags.OutOfBand);
                await peer.SendAsync("def"u8.ToArray());
                await RoundAsync();
                var total = 0;
                while (total < 6)
                {
                    total += await channel.ReceiveAsync(new byte[10]).AsTask().WaitAsync(_limit);
                }

                Assert.Equal(6, total);
            }
        }

        channel.Abort();
    }

    [Fact]
    public async Task What_has_come_already_is_said_at_once()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var first = new Observer();
            Assert.True(channel.TryReportArrival(first));
            await peer.SendAsync(new byte[1]);
            await first.Called.WaitAsync(_limit);
            var second = new Observer();
            Assert.False(channel.TryReportArrival(second));
            channel.Abort();
            Assert.False(channel.TryReportArrival(second));
            Assert.Equal(0, second.Count);
        }
    }

    [Theory]
    [InlineData("end")]
    [InlineData("reset")]
    [InlineData("abort")]
    [InlineData("discard")]
    public async Task The_end_is_an_arrival_too(string how)
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var observer = new Observer();
            Assert.True(channel.TryReportArrival(observer));
            switch (how)
            {
                case "end":
                    peer.Shutdown(SocketShutdown.Send);
                    break;
                case "reset":
                    peer.LingerState = new LingerOption(true, 0);
                    peer.Dispose();
                    break;
                case "abort":
                    channel.Abort();
                    break;
                default:
                    channel.Discard();
                    break;
            }

            await observer.Called.WaitAsync(_limit);
            channel.Abort();
            await RoundAsync();
            Assert.Equal(1, observer.Count);
        }
    }

    [Fact]
    public async Task An_abort_calls_no_observer_inside_itself()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var gate = new Lock();
            var observer = new Observer { Gate = gate };
            Assert.True(channel.TryReportArrival(observer));

            // On the loop's own thread, where a call could come at once.
            _loop.Schedule(_ =>
            {
                lock (gate)
                {
                    channel.Abort();
                }
            }, null);
            await observer.Called.WaitAsync(_limit);
            Assert.False(observer.WasInside);
        }
    }

    [Fact]
    public async Task While_a_receive_waits_no_observer_is_taken()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var receiving = channel.ReceiveAsync(new byte[1]).AsTask();
            Assert.Throws<InvalidOperationException>(() => channel.TryReportArrival(new Observer()));
            await peer.SendAsync(new byte[1]);
            Assert.Equal(1, await receiving.WaitAsync(_limit));
        }

        channel.Abort();
    }

    private async Task RoundAsync()
    {
        var round = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Schedule(static state => ((TaskCompletionSource)state!).SetResult(), round);
        await round.Task.WaitAsync(_limit);
    }

    private async Task<(EpollChannel Channel, Socket Peer)> ConnectAsync()
    {
        using var listener = LoopbackPair.Bind();
        listener.Listen(1);
        var (channel, error) = await EpollConnector.ConnectAsync(
            _loop, (IPEndPoint)listener.LocalEndPoint!, TestContext.Current.CancellationToken);
        Assert.Equal(SocketError.Success, error);
        return (channel!, await listener.AcceptAsync());
    }

    private sealed class Observer : IArrivalObserver
    {
        private readonly TaskCompletionSource _called = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _count;

        public Task Called => _called.Task;

        public int Count => Volatile.Read(ref _count);

        public Lock? Gate { get; init; }

        public bool WasInside { get; private set; }

        public void OnArrival()
        {
            WasInside = Gate?.IsHeldByCurrentThread ?? false;
            Interlocked.Increment(ref _count);
            _called.TrySetResult();
        }
    }
}
