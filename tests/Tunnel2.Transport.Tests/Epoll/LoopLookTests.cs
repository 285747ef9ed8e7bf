using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>What a loop says of a connection that it has not served yet.</summary>
public sealed class LoopLookTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();

    public void Dispose() => _loop.Dispose();

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_came_while_the_loop_was_busy_is_known_a_millisecond_later_and_still_served(bool byBytes)
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var arrival = channel.ReceiveAsync(Memory<byte>.Empty).AsTask();
            var (before, after) = await OnLoopAsync(() =>
            {
                Assert.True(channel.WasIdleAndOpen());
                var open = channel.WasIdleAndOpen();
                Put(peer, byBytes);
                PassAMillisecond();
                return (open, channel.WasIdleAndOpen());
            });

            Assert.True(before);
            Assert.False(after);
            await arrival.WaitAsync(_limit);
            Assert.Equal(byBytes ? 1 : 0, await channel.ReceiveAsync(new byte[10]).AsTask().WaitAsync(_limit));
            channel.Abort();
        }
    }

    [Fact]
    public async Task What_was_fetched_with_other_events_is_known_before_it_is_handled()
    {
        var first = await ConnectAsync();
        var second = await ConnectAsync();
        var seen = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        using (first.Peer)
        using (second.Peer)
        {
            // The one that is served first asks about the other, whose event is in the same batch.
            var asked = 0;
            async Task ServeAsync(EpollChannel own, EpollChannel other)
            {
                await own.ReceiveAsync(Memory<byte>.Empty);
                if (Interlocked.Increment(ref asked) == 1)
                {
                    PassAMillisecond();
                    seen.SetResult(other.WasIdleAndOpen());
                }
            }

            var serving = await OnLoopAsync(() =>
            {
                var both = Task.WhenAll(ServeAsync(first.Channel, second.Channel), ServeAsync(second.Channel, first.Channel));
                first.Peer.Send(new byte[1]);
                second.Peer.Send(new byte[1]);
                return both;
            });
            Assert.False(await seen.Task.WaitAsync(_limit));
            await serving.WaitAsync(_limit);
            first.Channel.Abort();
            second.Channel.Abort();
        }
    }

    [Theory]
    [InlineData(100)]
    [InlineData(300)]
    [InlineData(1_400)]
    public async Task However_many_events_a_look_ahead_fetches_each_is_handled_once(int count)
    {
        var pairs = new List<(EpollChannel Channel, Socket Peer)>();
        for (var i = 0; i < count; i++)
        {
            pairs.Add(await ConnectAsync());
        }

        var arrivals = pairs.ConvertAll(static pair => pair.Channel.ReceiveAsync(new byte[2]).AsTask());
        var idle = await OnLoopAsync(() =>
        {
            foreach (var (_, peer) in pairs)
            {
                peer.Send(new byte[1]);
            }

            PassAMillisecond();
            return pairs.Count(static pair => pair.Channel.WasIdleAndOpen());
        });

        Assert.Equal(0, idle);
        Assert.All(await Task.WhenAll(arrivals).WaitAsync(_limit), static received => Assert.Equal(1, received));

        // The kernel's events and those of looks come on as before.
        arrivals = pairs.ConvertAll(static pair => pair.Channel.ReceiveAsync(new byte[2]).AsTask());
        foreach (var (_, peer) in pairs)
        {
            await peer.SendAsync(new byte[1]);
        }

        Assert.All(await Task.WhenAll(arrivals).WaitAsync(_limit), static received => Assert.Equal(1, received));
        Assert.Equal(count, await OnLoopAsync(() =>
        {
            PassAMillisecond();
            return pairs.Count(static pair => pair.Channel.WasIdleAndOpen());
        }));
        foreach (var (channel, peer) in pairs)
        {
            channel.Abort();
            peer.Dispose();
        }
    }

    [Fact]
    public async Task Who_asks_from_another_thread_learns_what_is_there_now()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            // Off the loop, on which a connection is made.
            await Task.Yield();
            Assert.True(channel.WasIdleAndOpen());
            await using (await HeldLoop.HoldAsync(_loop))
            {
                await peer.SendAsync(new byte[1]);
                Assert.False(channel.WasIdleAndOpen());
            }

            channel.Abort();
        }
    }

    private static void Put(Socket peer, bool bytes)
    {
        if (bytes)
        {
            peer.Send(new byte[1]);
        }
        else
        {
            peer.Shutdown(SocketShutdown.Send);
        }
    }

    /// <summary>What an answer may be old.</summary>
    private static void PassAMillisecond()
    {
        var began = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(began) <= TimeSpan.FromMilliseconds(1.1))
        {
            Thread.SpinWait(10);
        }
    }

    private Task<T> OnLoopAsync<T>(Func<T> work)
    {
        var result = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Schedule(_ =>
        {
            try
            {
                result.SetResult(work());
            }
            catch (Exception exception)
            {
                result.SetException(exception);
            }
        }, null);
        return result.Task.WaitAsync(_limit);
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
}
