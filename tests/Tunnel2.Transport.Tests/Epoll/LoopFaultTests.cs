using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>What a callback throws ends its socket at most; the loop, and with it the process, continues.</summary>
public sealed class LoopFaultTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly List<string> _told = [];
    private readonly EpollLoop _loop;

    public LoopFaultTests() =>
        _loop = new EpollLoop(new ContainedFaults(new ManualTimeProvider()) { Report = (place, _, _) => _told.Add(place) });

    public void Dispose() => _loop.Dispose();

    [Theory]
    [InlineData("scheduled")]
    [InlineData("turn")]
    [InlineData("remote")]
    public async Task Work_that_throws_is_counted_and_the_rest_of_it_runs(string kind)
    {
        var ran = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        void Queue(Action<object?> work)
        {
            switch (kind)
            {
                case "scheduled":
                    _loop.Schedule(_ => _loop.Schedule(work, null), null);
                    break;
                case "turn":
                    _loop.Schedule(_ => _loop.Turns.Schedule(work, null), null);
                    break;
                default:
                    _loop.Schedule(work, null);
                    break;
            }
        }

        Queue(_ => throw new InvalidTimeZoneException());
        Queue(_ => throw new AggregateException(new InvalidTimeZoneException()));
        Queue(_ => ran.SetResult());
        await ran.Task.WaitAsync(_limit);
        Assert.Equal(2, _loop.Faults.Count);

        // The second one came within the second: no time has passed.
        Assert.Equal(["loop work"], _told);
    }

    [Theory]
    [InlineData("readable")]
    [InlineData("writable")]
    [InlineData("peer closed")]
    [InlineData("closed by loop")]
    public async Task An_event_that_throws_ends_its_socket_and_no_other(string where)
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using var peer = right;
        var events = new ThrowingEvents(where);
        var socket = new EpollSocket(_loop, DescriptorOf.Take(left), events, connected: where != "writable");
        var (other, visitor) = await LoopbackPair.ConnectAsync();
        using var otherPeer = visitor;
        var pipe = new SocketDuplexPipe(_loop, DescriptorOf.Take(other), new BufferPool());
        Assert.Equal(0, pipe.Register());
        Assert.Equal(0, socket.Register());
        if (where == "peer closed")
        {
            peer.Shutdown(SocketShutdown.Send);
        }
        else
        {
            await peer.SendAsync(new byte[1]);
        }

        await events.Closed.Task.WaitAsync(_limit);
        Assert.True(socket.IsClosed);
        await Assert.ThrowsAsync<SocketException>(async () => Assert.NotEqual(0, await peer.ReceiveAsync(new byte[1]).WaitAsync(_limit)));
        await visitor.SendAsync(new byte[1]);
        var read = await pipe.Input.ReadAsync().AsTask().WaitAsync(_limit);
        Assert.Equal(1, read.Buffer.Length);
        Assert.Equal(where == "closed by loop" ? 2 : 1, _loop.Faults.Count);
        pipe.Abort();
    }

    [Fact]
    public async Task An_accept_that_throws_is_not_the_last()
    {
        var accepted = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        var count = 0;
        using var listener = OneLoopListener.Start(_loop, LoopbackPair.Bind(), 10, (descriptor, peer) =>
        {
            if (++count == 1)
            {
                _ = Libc.Close(descriptor);
                throw new InvalidTimeZoneException();
            }

            accepted.SetResult(descriptor);
        });
        using var first = await ConnectAsync(listener.EndPoint);
        Assert.Equal(0, await first.ReceiveAsync(new byte[1]).WaitAsync(_limit));
        using var second = await ConnectAsync(listener.EndPoint);
        _ = Libc.Close(await accepted.Task.WaitAsync(_limit));
        Assert.Equal(1, _loop.Faults.Count);
    }

    [Fact]
    public async Task A_peer_that_takes_nothing_does_not_hold_up_a_closing_for_ever()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var buffers = new BufferPool();
            var pipe = new SocketDuplexPipe(_loop, DescriptorOf.Take(left), buffers) { DrainLimit = TimeSpan.FromMilliseconds(50) };
            Assert.Equal(0, pipe.Register());
            var flushing = pipe.Output.WriteAsync(new byte[20_000_000]);
            Assert.False(flushing.IsCompleted);
            await pipe.CloseAsync().AsTask().WaitAsync(_limit);
            Assert.True((await flushing.AsTask().WaitAsync(_limit)).IsCompleted);
            Assert.Equal(0, buffers.Outstanding);
            await Assert.ThrowsAsync<SocketException>(async () =>
            {
                while (await right.ReceiveAsync(new byte[100_000]).WaitAsync(_limit) > 0)
                {
                }
            });
        }
    }

    private static async Task<Socket> ConnectAsync(IPEndPoint endPoint)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(endPoint);
        return socket;
    }

    private sealed class ThrowingEvents(string where) : ISocketEvents
    {
        public TaskCompletionSource Closed { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public void OnReadable() => ThrowAt("readable", "closed by loop");

        public void OnWritable() => ThrowAt("writable");

        public void OnPeerClosed() => ThrowAt("peer closed");

        public void OnClosedByLoop()
        {
            Closed.SetResult();
            ThrowAt("closed by loop");
        }

        private void ThrowAt(params string[] places)
        {
            if (places.Contains(where))
            {
                throw new InvalidTimeZoneException(where);
            }
        }
    }
}
