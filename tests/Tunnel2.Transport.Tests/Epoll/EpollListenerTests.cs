using System.Net.Sockets;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>A listener whose socket listens already is one that another process holds too, and has after us.</summary>
public sealed class EpollListenerTests
{
    private const int Wakes = 50;
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task Who_waits_in_a_socket_of_another_process_is_left_to_it_and_disturbs_the_loop_no_more()
    {
        using var loop = new EpollLoop();
        using var holder = LoopbackPair.Bind();
        holder.Listen(10);
        var accepted = 0;
        using var listener = OneLoopListener.Start(loop, Duplicate(holder), 10, (descriptor, _) =>
        {
            Interlocked.Increment(ref accepted);
            new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)).Dispose();
        });
        using (var first = await ConnectAsync(holder))
        {
            Assert.Equal(0, await first.ReceiveAsync(new byte[1]).WaitAsync(_limit, TestContext.Current.CancellationToken));
        }

        await listener.StopAsync().WaitAsync(_limit, TestContext.Current.CancellationToken);
        using var second = await ConnectAsync(holder);
        var events = loop.Statistics.Events;
        for (var i = 0; i < Wakes; i++)
        {
            await RunOnAsync(loop);
        }

        // A wake is an event at most. The waiting visitor would be one in every round, and the loop would never sleep.
        Assert.InRange(loop.Statistics.Events - events, 0, Wakes);
        Assert.Equal(1, accepted);
        Assert.Equal(0, loop.HandleCount);
        using var taken = await holder.AcceptAsync(TestContext.Current.CancellationToken)
            .AsTask()
            .WaitAsync(_limit, TestContext.Current.CancellationToken);
        Assert.Equal(second.LocalEndPoint, taken.RemoteEndPoint);
    }

    [Fact]
    public async Task Who_waits_in_a_socket_of_ours_is_accepted_before_it_closes()
    {
        using var loop = new EpollLoop();
        var accepted = 0;
        using var listener = OneLoopListener.Start(loop, LoopbackPair.Bind(), 10, (descriptor, _) =>
        {
            Interlocked.Increment(ref accepted);
            new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)).Dispose();
        });
        using var connected = new ManualResetEventSlim();
        loop.Schedule(_ => connected.Wait(_limit), null);
        using var visitor = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await visitor.ConnectAsync(listener.EndPoint, TestContext.Current.CancellationToken);
        var stopped = listener.StopAsync();
        connected.Set();
        await stopped.WaitAsync(_limit, TestContext.Current.CancellationToken);

        Assert.Equal(1, accepted);
    }

    [Fact]
    public async Task Who_comes_while_it_closes_is_neither_reset_nor_refused_but_meets_the_next_listener()
    {
        using var loop = new EpollLoop();
        using var first = OneLoopListener.Start(loop, LoopbackPair.Bind(), 10, static (descriptor, _) => DescriptorOf.Reset(descriptor));
        using var visitor = new Socket(SocketType.Stream, ProtocolType.Tcp);
        Task stopped;
        Task connected;
        await using (await HeldLoop.HoldAsync(loop))
        {
            // Its first SYN meets a listener that takes no connection any more, and its second, after a second, the successor. While the
            // loop is held, the listener is not closed before that first one.
            stopped = first.StopAsync();
            connected = visitor.ConnectAsync(first.EndPoint, TestContext.Current.CancellationToken).AsTask();
        }

        await stopped.WaitAsync(_limit, TestContext.Current.CancellationToken);
        Assert.False(connected.IsCompleted);
        using var successor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        successor.Bind(first.EndPoint);
        successor.Listen(10);
        await connected.WaitAsync(_limit, TestContext.Current.CancellationToken);
        using var accepted = await successor.AcceptAsync(TestContext.Current.CancellationToken)
            .AsTask()
            .WaitAsync(_limit, TestContext.Current.CancellationToken);
        await accepted.SendAsync(new byte[1]);
        Assert.Equal(
            1,
            await visitor.ReceiveAsync(new byte[10], TestContext.Current.CancellationToken)
                .AsTask()
                .WaitAsync(_limit, TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Several_loops_share_a_listener_and_a_busy_one_leaves_it_to_the_others()
    {
        using var first = new EpollLoop();
        using var second = new EpollLoop();
        var accepted = new System.Collections.Concurrent.ConcurrentQueue<EpollLoop>();
        var gate = new Gate();
        var listeners = EpollListener.StartAll([first, second], LoopbackPair.Bind(), 100, (loop, descriptor, _) =>
        {
            accepted.Enqueue(loop);
            new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)).Dispose();
        }, null, gate);
        var endPoint = listeners[0].EndPoint;
        foreach (var (held, other) in new[] { (first, second), (second, first) })
        {
            await using (await HeldLoop.HoldAsync(held))
            {
                for (var i = 0; i < 20; i++)
                {
                    await VisitAsync(endPoint);
                }

                Assert.Equal(20, accepted.Count(loop => loop == other));
            }
        }

        // A gate that is closed is asked again by each, and accepting continues.
        gate.IsOpen = false;
        using var waiting = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await waiting.ConnectAsync(endPoint, TestContext.Current.CancellationToken);
        await gate.Asked.Task.WaitAsync(_limit, TestContext.Current.CancellationToken);
        gate.Open();
        Assert.Equal(0, await waiting.ReceiveAsync(new byte[1]).WaitAsync(_limit, TestContext.Current.CancellationToken));
        await Task.WhenAll(
            listeners.Select(static listener => listener.StopAsync())).WaitAsync(_limit, TestContext.Current.CancellationToken);
        Assert.Equal(41, accepted.Count);
        Assert.Equal((0, 0), (first.HandleCount, second.HandleCount));
        using var late = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await Assert.ThrowsAsync<SocketException>(async () => await late.ConnectAsync(endPoint, TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task A_loop_whose_connections_all_leave_for_another_one_leaves_the_accepting_to_it_for_a_while()
    {
        using var home = new EpollLoop();
        using var other = new EpollLoop();
        var accepted = new System.Collections.Concurrent.ConcurrentQueue<EpollLoop>();
        var listeners = EpollListener.StartAll([home, other], LoopbackPair.Bind(), 100, (loop, descriptor, _) =>
        {
            accepted.Enqueue(loop);
            if (loop == other)
            {
                // As a connection does whose request is for an uplink there.
                loop.Statistics.MovedTo(home.Statistics);
            }

            new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)).Dispose();
        }, null, null);
        var endPoint = listeners[0].EndPoint;

        // Only the other one has time, until it has seen enough of them leave.
        using (var visitor = new Socket(SocketType.Stream, ProtocolType.Tcp))
        {
            await using (await HeldLoop.HoldAsync(home))
            {
                while (other.HandleCount > 0)
                {
                    await VisitAsync(endPoint);
                }

                Assert.True(accepted.Count >= 32);
                accepted.Clear();
                await visitor.ConnectAsync(endPoint, TestContext.Current.CancellationToken);
                await RunOnAsync(other);
                Assert.Empty(accepted);
            }

            Assert.Equal(0, await visitor.ReceiveAsync(new byte[1]).WaitAsync(_limit, TestContext.Current.CancellationToken));
            Assert.Equal(home, Assert.Single(accepted));
        }

        // It comes back by itself.
        await using (await HeldLoop.HoldAsync(home))
        {
            await VisitAsync(endPoint);
        }

        Assert.Equal([home, other], accepted);
        await Task.WhenAll(
            listeners.Select(static listener => listener.StopAsync())).WaitAsync(_limit, TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task A_loop_that_connections_come_to_accepts_on_though_its_own_leave()
    {
        using var first = new EpollLoop();
        using var second = new EpollLoop();
        var listeners = EpollListener.StartAll([first, second], LoopbackPair.Bind(), 100, (loop, descriptor, _) =>
        {
            // As with sessions on both: half of all connections are wrong, wherever they are accepted.
            first.Statistics.MovedTo(second.Statistics);
            second.Statistics.MovedTo(first.Statistics);
            new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)).Dispose();
        }, null, null);
        for (var i = 0; i < 200; i++)
        {
            await VisitAsync(listeners[0].EndPoint);
        }

        Assert.Equal((1, 1), (first.HandleCount, second.HandleCount));
        await Task.WhenAll(
            listeners.Select(static listener => listener.StopAsync())).WaitAsync(_limit, TestContext.Current.CancellationToken);
    }

    private static async Task VisitAsync(System.Net.IPEndPoint endPoint)
    {
        using var visitor = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await visitor.ConnectAsync(endPoint, TestContext.Current.CancellationToken);
        Assert.Equal(0, await visitor.ReceiveAsync(new byte[1]).WaitAsync(_limit, TestContext.Current.CancellationToken));
    }

    private sealed class Gate : Tunnel2.Transport.Sockets.IAcceptGate
    {
        private readonly System.Collections.Concurrent.ConcurrentQueue<Action> _waiting = new();

        public TaskCompletionSource Asked { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public bool IsOpen { get; set; } = true;

        public void WhenOpen(Action open)
        {
            _waiting.Enqueue(open);
            Asked.TrySetResult();
        }

        public void Open()
        {
            IsOpen = true;
            while (_waiting.TryDequeue(out var open))
            {
                open();
            }
        }
    }

    private static Socket Duplicate(Socket socket) => new(new SafeSocketHandle(FileControl((int)socket.Handle, 0, 0), ownsHandle: true));

    private static async Task<Socket> ConnectAsync(Socket listener)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(listener.LocalEndPoint!, TestContext.Current.CancellationToken);
        return socket;
    }

    private static Task RunOnAsync(EpollLoop loop)
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        loop.Schedule(static state => ((TaskCompletionSource)state!).SetResult(), done);
        return done.Task.WaitAsync(_limit, TestContext.Current.CancellationToken);
    }

    [System.Runtime.InteropServices.DllImport("libc", EntryPoint = "fcntl", SetLastError = true)]
    [System.Runtime.InteropServices.DefaultDllImportSearchPaths(System.Runtime.InteropServices.DllImportSearchPath.SafeDirectories)]
    private static extern int FileControl(int descriptor, int command, int argument);
}
