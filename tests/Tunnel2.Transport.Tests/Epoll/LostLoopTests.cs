using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>A loop whose thread hangs or fails takes nothing with it but its own connections.</summary>
public sealed class LostLoopTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task A_loop_that_cannot_wait_any_more_dies_and_its_connections_are_reset()
    {
        var faults = new ContainedFaults();
        using var loop = new EpollLoop(faults, 3, static () => true);
        await using var connection = await Connection.OpenAsync(loop);
        var reading = connection.Pipe.Input.ReadAsync().AsTask();
        LoopFault.TakeAway(loop);

        await Assert.ThrowsAsync<IOException>(() => reading.WaitAsync(_limit));
        await connection.AssertResetAsync();
        await WaitSignal.UntilAsync(() => loop.HandleCount == 0, "nothing is left on the loop", _limit);
        Assert.Equal((1, 1L, false), (connection.Closed, faults.Count, loop.IsInService));
        Assert.IsType<IOException>(loop.Failure);

        // What is left to do is done elsewhere, and no connection comes any more.
        Assert.False(await RunAsync(loop));
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            Assert.NotEqual(0, new SocketDuplexPipe(loop, DescriptorOf.Take(left), new BufferPool()).Register());
        }
    }

    [Fact]
    public async Task One_wait_that_fails_costs_nothing()
    {
        var faults = new ContainedFaults();
        using var loop = new EpollLoop(faults, 3, static () => true);
        await using var connection = await Connection.OpenAsync(loop);
        for (var i = 0; i < 10; i++)
        {
            await LoopFault.FailOneWaitAsync(loop);
            await connection.Peer.SendAsync(new byte[1]);
            var read = await connection.Pipe.Input.ReadAsync().AsTask().WaitAsync(_limit);
            Assert.Equal(1, read.Buffer.Length);
            connection.Pipe.Input.AdvanceTo(read.Buffer.End);
        }

        Assert.Equal((0L, true), (faults.Count, loop.IsInService));
    }

    [Fact]
    public async Task What_was_scheduled_when_a_loop_dies_runs_all_the_same()
    {
        using var loop = new EpollLoop(null, 0, static () => true);
        await using var held = await HeldLoop.HoldAsync(loop);
        var ran = new AsyncCounter("work that ran");
        for (var i = 0; i < 1000; i++)
        {
            loop.Schedule(_ => ran.Increment(), null);
            loop.Turns.Schedule(_ => loop.Turns.Schedule(_ => ran.Increment(), null), null);
        }

        LoopFault.TakeAway(loop);
        held.Release();
        await ran.WaitForAsync(2000, _limit);
    }

    [Fact]
    public async Task A_loop_that_is_given_up_ends_its_connections_though_its_thread_hangs_and_serves_again_when_it_comes_back()
    {
        using var loop = new EpollLoop();
        await using var waiting = await Connection.OpenAsync(loop);
        await using var sending = await Connection.OpenAsync(loop);
        var reading = waiting.Pipe.Input.ReadAsync().AsTask();
        var flushing = sending.Pipe.Output.WriteAsync(new byte[20_000_000]).AsTask();
        Assert.False(flushing.IsCompleted);
        await using var held = await HeldLoop.HoldAsync(loop);
        var queued = RunAsync(loop);

        loop.GiveUp();
        await Assert.ThrowsAsync<IOException>(() => reading.WaitAsync(_limit));
        Assert.True((await flushing.WaitAsync(_limit)).IsCompleted);
        await waiting.AssertResetAsync();
        await sending.AssertResetAsync();
        Assert.False(await queued.WaitAsync(_limit));
        Assert.False(await RunAsync(loop));
        Assert.Equal((false, 0, 1, 1), (loop.IsInService, loop.HandleCount, waiting.Closed, sending.Closed));

        held.Release();
        loop.TakeBack();
        Assert.True(loop.IsInService);
        Assert.True(await RunAsync(loop));
        await using var next = await Connection.OpenAsync(loop);
        await next.Peer.SendAsync(new byte[3]);
        Assert.Equal(3, (await next.Pipe.Input.ReadAsync().AsTask().WaitAsync(_limit)).Buffer.Length);
    }

    [Fact]
    public async Task A_connection_whose_lock_the_hanging_thread_holds_holds_up_no_other()
    {
        using var loop = new EpollLoop();
        using var until = new ManualResetEventSlim();
        await using var other = await Connection.OpenAsync(loop);
        var (left, right) = await LoopbackPair.ConnectAsync();
        using var peer = right;
        var events = new SilentEvents();
        var held = new EpollSocket(loop, DescriptorOf.Take(left), events);
        Assert.Equal(0, held.Register());
        var entered = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        loop.Schedule(
            _ =>
            {
                lock (held.Gate)
                {
                    entered.SetResult();
                    until.Wait(_limit);
                }
            },
            null);
        await entered.Task.WaitAsync(_limit);
        await Task.Run(loop.GiveUp).WaitAsync(_limit);
        await other.AssertResetAsync();
        Assert.False(held.IsClosed);
        until.Set();
        loop.TakeBack();
        Assert.True(await RunAsync(loop));
        held.Close();
    }

    [Fact]
    public async Task A_loop_that_fails_is_in_service_until_it_is_decided_that_the_process_continues()
    {
        var asked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var decided = new ManualResetEventSlim();
        using var loop = new EpollLoop(null, 0, () =>
        {
            asked.SetResult();
            return decided.Wait(_limit);
        });
        LoopFault.TakeAway(loop);
        await asked.Task.WaitAsync(_limit);
        Assert.Equal((true, false), (loop.IsInService, loop.IsLeft));
        decided.Set();
        await WaitSignal.UntilAsync(() => !loop.IsInService, "the loop has died", _limit);
    }

    [Fact]
    public async Task An_engine_gives_nothing_to_a_loop_that_is_lost()
    {
        using var engine = new EpollEngine(3) { OutlivesLoops = true };
        LoopFault.TakeAway(engine.Loops[1]);
        await WaitSignal.UntilAsync(() => !engine.Loops[1].IsInService, "the loop has died", _limit);
        engine.Loops[2].GiveUp();
        Assert.All(Enumerable.Range(0, 10), _ => Assert.Same(engine.Loops[0], engine.NextLoop()));
        engine.Loops[2].TakeBack();
        Assert.Equal(
            [engine.Loops[0], engine.Loops[2]],
            Enumerable.Range(0, 10).Select(_ => engine.NextLoop()).Distinct().OrderBy(static loop => loop.Number));

        // None is left: a loop has to be given, and it is not the caller who has to know.
        engine.Loops[0].GiveUp();
        engine.Loops[2].GiveUp();
        Assert.NotNull(engine.NextLoop());
        engine.Loops[0].TakeBack();
        engine.Loops[2].TakeBack();
    }

    [Fact]
    public async Task Who_waits_in_a_listener_that_a_lost_loop_was_woken_for_is_accepted_by_another()
    {
        using var lost = new EpollLoop(null, 0, static () => true);
        using var other = new EpollLoop(null, 1, static () => true);
        var accepted = new TaskCompletionSource<EpollLoop>(TaskCreationOptions.RunContinuationsAsynchronously);
        var listeners = EpollListener.StartAll([lost, other], LoopbackPair.Bind(), 10, (loop, descriptor, _) =>
        {
            new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)).Dispose();
            accepted.TrySetResult(loop);
        }, null, null);
        LoopFault.TakeAway(lost);
        await WaitSignal.UntilAsync(() => !lost.IsInService && lost.HandleCount == 0, "the loop has died", _limit);
        using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await visitor.ConnectAsync(listeners[0].EndPoint);
        Assert.Same(other, await accepted.Task.WaitAsync(_limit));
        await Task.WhenAll(listeners.Select(static listener => listener.StopAsync())).WaitAsync(_limit);
        Assert.Equal(0, other.HandleCount);
    }

    /// <summary>
    /// Schedules work from another thread: the test may continue on the loop's own, where that has just reported something.
    /// </summary>
    /// <returns>Whether it ran on the loop's thread.</returns>
    private static async Task<bool> RunAsync(EpollLoop loop)
    {
        var ran = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Task.Run(() => loop.Schedule(_ => ran.SetResult(loop.IsCurrent), null));
        return await ran.Task.WaitAsync(_limit);
    }

    private sealed class Connection : SocketDuplexPipe, IAsyncDisposable
    {
        private Connection(EpollLoop loop, int descriptor, Socket peer)
            : base(loop, descriptor, new BufferPool()) => Peer = peer;

        public SocketDuplexPipe Pipe => this;

        public Socket Peer { get; }

        public int Closed { get; private set; }

        public static async Task<Connection> OpenAsync(EpollLoop loop)
        {
            var (left, right) = await LoopbackPair.ConnectAsync();
            var connection = new Connection(loop, DescriptorOf.Take(left), right);
            Assert.Equal(0, connection.Register());
            return connection;
        }

        /// <summary>The peer cannot take what it has for whole.</summary>
        public async Task AssertResetAsync()
        {
            var exception = await Assert.ThrowsAsync<SocketException>(async () =>
            {
                var buffer = new byte[64 * 1024];
                while (await Peer.ReceiveAsync(buffer).WaitAsync(_limit) > 0)
                {
                }
            });
            Assert.Equal(SocketError.ConnectionReset, exception.SocketErrorCode);
        }

        public async ValueTask DisposeAsync()
        {
            await CloseAsync();
            Assert.Equal(1, Closed);
            Peer.Dispose();
        }

        protected override void OnDescriptorClosed() => Closed++;
    }

    private sealed class SilentEvents : ISocketEvents
    {
        public void OnReadable()
        {
        }

        public void OnWritable()
        {
        }

        public void OnPeerClosed()
        {
        }

        public void OnClosedByLoop()
        {
        }
    }
}
