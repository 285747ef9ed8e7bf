using System.Net;
using System.Net.Sockets;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Tests.Epoll;

public sealed class EpollChannelTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();

    public void Dispose() => _loop.Dispose();

    [Fact]
    public async Task An_echo_comes_back_whole_however_it_is_split()
    {
        const int Length = 200;
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            // Each piece goes at once, and not after the acknowledgement of the one before, which takes its time.
            peer.NoDelay = true;
            var sent = new byte[Length];
            LoopbackPair.Fill(sent, 1, 0);
            var received = new byte[Length];
            for (var split = 1; split < Length; split++)
            {
                Array.Clear(received);
                await peer.SendAsync(sent.AsMemory(0, split));
                var total = await channel.ReceiveAsync(received).AsTask().WaitAsync(_limit);
                await peer.SendAsync(sent.AsMemory(split));
                while (total < Length)
                {
                    var count = await channel.ReceiveAsync(received.AsMemory(total)).AsTask().WaitAsync(_limit);
                    Assert.NotEqual(0, count);
                    total += count;
                }

                Assert.Equal(sent, received);
                Array.Clear(received);
                await channel.SendAsync(sent.AsMemory(0, split));
                await channel.SendAsync(sent.AsMemory(split));
                for (total = 0; total < Length;)
                {
                    total += await peer.ReceiveAsync(received.AsMemory(total)).AsTask().WaitAsync(_limit);
                }

                Assert.Equal(sent, received);
            }
        }

        channel.Abort();
    }

    [Fact]
    public async Task A_buffer_that_is_filled_exactly_is_not_taken_for_more()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            for (var i = 0; i < 100; i++)
            {
                await peer.SendAsync(new byte[8]);
                var buffer = new byte[8];
                for (var total = 0; total < 8;)
                {
                    total += await channel.ReceiveAsync(buffer.AsMemory(total)).AsTask().WaitAsync(_limit);
                }

                var next = channel.ReceiveAsync(buffer);
                Assert.False(next.IsCompleted);
                await peer.SendAsync(new byte[1]);
                Assert.Equal(1, await next.AsTask().WaitAsync(_limit));
            }
        }

        channel.Abort();
    }

    [Fact]
    public async Task An_empty_buffer_waits_without_taking_anything()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var waiting = channel.ReceiveAsync(Memory<byte>.Empty);
            Assert.False(waiting.IsCompleted);
            await peer.SendAsync(new byte[5]);
            Assert.Equal(0, await waiting.AsTask().WaitAsync(_limit));
            Assert.Equal(5, await channel.ReceiveAsync(new byte[100]));
        }

        channel.Abort();
    }

    [Fact]
    public async Task Each_side_may_end_its_direction_and_continue_with_the_other()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            peer.Shutdown(SocketShutdown.Send);
            Assert.Equal(0, await channel.ReceiveAsync(new byte[10]).AsTask().WaitAsync(_limit));
            Assert.Equal(0, await channel.ReceiveAsync(new byte[10]).AsTask().WaitAsync(_limit));
            await channel.SendAsync(new byte[100]);
            channel.Socket.ShutdownSend();
            var total = 0;
            while (await peer.ReceiveAsync(new byte[1000]).WaitAsync(_limit) is > 0 and var count)
            {
                total += count;
            }

            Assert.Equal(100, total);
        }

        channel.Abort();
    }

    [Fact]
    public async Task A_reset_fails_what_waits_and_what_follows()
    {
        var (channel, peer) = await ConnectAsync();
        var receiving = channel.ReceiveAsync(new byte[10]).AsTask();
        peer.LingerState = new LingerOption(true, 0);
        peer.Dispose();
        var failure = await Assert.ThrowsAsync<IOException>(() => receiving.WaitAsync(_limit));
        Assert.Contains(nameof(SocketError.ConnectionReset), failure.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<IOException>(async () => await channel.SendAsync(new byte[10]));
        Assert.False(channel.Socket.IsIdleAndOpen());
        channel.Abort();
    }

    [Fact]
    public async Task A_connect_that_is_refused_says_so()
    {
        using var unused = LoopbackPair.Bind();
        var (channel, error) = await EpollConnector.ConnectAsync(
            _loop, (IPEndPoint)unused.LocalEndPoint!, TestContext.Current.CancellationToken);
        Assert.Null(channel);
        Assert.Equal(SocketError.ConnectionRefused, error);
        Assert.Equal(0, _loop.HandleCount);
    }

    [Fact]
    public async Task A_connect_without_an_answer_ends_by_its_token()
    {
        // A backlog of one that is full: the kernel drops further SYNs, so that a connect waits.
        using var listener = LoopbackPair.Bind();
        listener.Listen(0);
        var endPoint = (IPEndPoint)listener.LocalEndPoint!;
        using var giveUp = new CancellationTokenSource();
        var connects = Enumerable.Range(0, 10).Select(_ => EpollConnector.ConnectAsync(_loop, endPoint, giveUp.Token).AsTask()).ToArray();
        await giveUp.CancelAsync();
        var canceled = 0;
        foreach (var connect in connects)
        {
            try
            {
                (await connect.WaitAsync(_limit)).Channel?.Abort();
            }
            catch (OperationCanceledException)
            {
                canceled++;
            }
        }

        Assert.True(canceled > 0);
        Assert.Equal(0, _loop.HandleCount);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            async () => await EpollConnector.ConnectAsync(_loop, endPoint, giveUp.Token));
    }

    [Fact]
    public async Task A_connect_by_IPv6_reaches_its_listener()
    {
        Assert.SkipUnless(LoopbackV6.IsThere, "No ::1 here.");
        using var bound = new Socket(AddressFamily.InterNetworkV6, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
        var accepted = new TaskCompletionSource<(int Descriptor, IPEndPoint? Remote)>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var listener = OneLoopListener.Start(_loop, bound, 10, (descriptor, remote) => accepted.SetResult((descriptor, remote)));
        var (channel, _) = await EpollConnector.ConnectAsync(_loop, listener.EndPoint, TestContext.Current.CancellationToken);
        Assert.NotNull(channel);
        var (descriptor, remote) = await accepted.Task.WaitAsync(_limit);
        var peer = new EpollChannel(_loop, descriptor);
        Assert.Equal(0, peer.Register());
        Assert.Equal(channel.Socket.GetLocalEndPoint(), remote);
        Assert.Equal(listener.EndPoint, peer.Socket.GetLocalEndPoint());
        await peer.SendAsync(new byte[3]);
        Assert.Equal(3, await channel.ReceiveAsync(new byte[10]).AsTask().WaitAsync(_limit));
        channel.Abort();
        peer.Abort();
    }

    [Fact]
    public async Task A_listener_without_room_leaves_who_comes_to_the_kernel_and_continues_by_itself()
    {
        var room = new ClosedGate();
        var accepted = new List<int>();
        var both = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var listener = OneLoopListener.Start(_loop, LoopbackPair.Bind(), 10, OnAccepted, room: room);
        using var first = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        using var second = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await first.ConnectAsync(listener.EndPoint);
        await second.ConnectAsync(listener.EndPoint);
        var resume = await room.Waiting.Task.WaitAsync(_limit);
        Assert.Empty(accepted);
        room.IsOpen = true;
        resume();
        await both.Task.WaitAsync(_limit);

        // Full again, and no connection comes: none is said to wait, once the round is over.
        var round = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Schedule(static state => ((TaskCompletionSource)state!).SetResult(), round);
        await round.Task.WaitAsync(_limit);
        Assert.False(room.HasWaitedAgain);
        accepted.ForEach(DescriptorOf.Reset);
        var failure = await Assert.ThrowsAsync<SocketException>(() => first.ReceiveAsync(new byte[1]).WaitAsync(_limit));
        Assert.Equal(SocketError.ConnectionReset, failure.SocketErrorCode);

        void OnAccepted(int descriptor, IPEndPoint? remote)
        {
            accepted.Add(descriptor);
            if (accepted.Count == 2)
            {
                room.IsOpen = false;
                both.SetResult();
            }
        }
    }

    [Fact]
    public async Task A_slow_reader_holds_up_a_large_send_and_gets_all_of_it()
    {
        const int Length = 30_000_000;
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var bytes = new byte[Length];
            LoopbackPair.Fill(bytes, 3, 0);
            var sending = channel.SendAsync(bytes).AsTask();
            Assert.False(sending.IsCompleted);
            await Assert.ThrowsAsync<InvalidOperationException>(async () => await channel.SendAsync(new byte[1]));
            var buffer = new byte[70_000];
            var expected = new byte[70_000];
            for (var total = 0; total < Length;)
            {
                var count = await peer.ReceiveAsync(buffer).WaitAsync(_limit);
                LoopbackPair.Fill(expected.AsSpan(0, count), 3, total);
                Assert.True(buffer.AsSpan(0, count).SequenceEqual(expected.AsSpan(0, count)));
                total += count;
            }

            await sending.WaitAsync(_limit);
        }

        channel.Abort();
    }

    [Fact]
    public async Task An_abort_continues_no_caller_inside_itself()
    {
        var (channel, peer) = await ConnectAsync();
        using (peer)
        {
            var gate = new Lock();
            var entered = false;
            var ended = Task.Run(async () =>
            {
                try
                {
                    await channel.ReceiveAsync(new byte[1]).ConfigureAwait(false);
                }
                catch (IOException)
                {
                    entered = gate.IsHeldByCurrentThread;
                }
            });
            var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

            // On the loop's own thread, where a continuation could run at once.
            _loop.Schedule(_ =>
            {
                lock (gate)
                {
                    channel.Abort();
                }

                aborted.SetResult();
            }, null);
            await Task.WhenAll(aborted.Task, ended).WaitAsync(_limit);
            Assert.False(entered);
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public async Task Closes_from_all_sides_end_every_operation_once(int seed)
    {
        var random = new Random(seed);
        for (var i = 0; i < 300; i++)
        {
            var (channel, peer) = await ConnectAsync();
            var sends = random.Next(2) == 0;
            var operations = new[]
            {
                ReceiveAllAsync(channel),
                sends ? SendMuchAsync(channel) : Task.CompletedTask,
                PeerAsync(peer, random.Next(4), random.Next(200_000)),
                Task.Run(() => Spin(channel, random.Next(3000))),
            };
            await Task.WhenAll(operations).WaitAsync(_limit);
            peer.Dispose();
            Assert.True(channel.Socket.IsClosed);
        }

        Assert.Equal(0, _loop.HandleCount);
    }

    private static void Spin(EpollChannel channel, int turns)
    {
        Thread.SpinWait(turns);
        channel.Abort();
        channel.Abort();
    }

    private static async Task ReceiveAllAsync(EpollChannel channel)
    {
        try
        {
            while (await channel.ReceiveAsync(new byte[5000]) > 0)
            {
            }
        }
        catch (IOException)
        {
        }
    }

    private static async Task SendMuchAsync(EpollChannel channel)
    {
        try
        {
            for (var i = 0; i < 20; i++)
            {
                await channel.SendAsync(new byte[300_000]);
            }
        }
        catch (IOException)
        {
        }
    }

    private static async Task PeerAsync(Socket peer, int what, int length)
    {
        try
        {
            await peer.SendAsync(new byte[length]);
            switch (what)
            {
                case 0:
                    peer.Shutdown(SocketShutdown.Send);
                    break;
                case 1:
                    peer.LingerState = new LingerOption(true, 0);
                    peer.Dispose();
                    break;
                case 2:
                    peer.Dispose();
                    break;
                default:
                    break;
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
        }
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

    private sealed class ClosedGate : IAcceptGate
    {
        public TaskCompletionSource<Action> Waiting { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public bool HasWaitedAgain { get; private set; }

        public bool IsOpen { get; set; }

        public void WhenOpen(Action resume) => HasWaitedAgain |= !Waiting.TrySetResult(resume);
    }
}
