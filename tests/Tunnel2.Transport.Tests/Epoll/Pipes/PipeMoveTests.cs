using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.Transport.Tests.Epoll.Pipes;

/// <summary>A connection moves from one loop to another, between what it has read and what comes next.</summary>
public sealed class PipeMoveTests
{
    private const int Moves = 200;
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task What_was_received_comes_along_and_what_follows_arrives_on_the_other_loop()
    {
        await using var test = await Connection.OpenAsync();
        await test.Peer.SendAsync("head,rest"u8.ToArray());
        await test.OnLoopAsync(async () =>
        {
            var read = await ReadAsync(test.Pipe.Input, 9);
            test.Pipe.Input.AdvanceTo(read.Buffer.GetPosition(5));

            // Sent before the move, and reported by no event: the other loop hears of it when the descriptor comes.
            await test.Peer.SendAsync("!"u8.ToArray());
            Assert.True(test.Pipe.TryMoveTo(test.Second));
            await new SchedulerYield(test.Second);
            Assert.True(test.Second.IsCurrent);
            Assert.Equal((0, 1), (test.First.HandleCount, test.Second.HandleCount));
            read = await ReadAsync(test.Pipe.Input, 5);
            Assert.Equal("rest!"u8.ToArray(), read.Buffer.ToArray());
            test.Pipe.Input.AdvanceTo(read.Buffer.End);

            var waiting = test.Pipe.Input.ReadAsync();
            Assert.False(waiting.IsCompleted);
            await test.Peer.SendAsync("more"u8.ToArray());
            read = await waiting;
            Assert.True(test.Second.IsCurrent);
            test.Pipe.Input.AdvanceTo(read.Buffer.End);
            await test.Pipe.Output.WriteAsync("answer"u8.ToArray());
        });
        Assert.Equal(6, await test.Peer.ReceiveAsync(new byte[10]));
    }

    [Fact]
    public async Task It_stays_while_a_request_waits_for_it()
    {
        await using var test = await Connection.OpenAsync();
        var reading = test.Pipe.Input.ReadAsync().AsTask();
        Assert.False(test.Pipe.TryMoveTo(test.Second));
        await test.Peer.SendAsync("x"u8.ToArray());
        test.Pipe.Input.AdvanceTo((await reading.WaitAsync(_limit)).Buffer.End);

        var flushing = test.Pipe.Output.WriteAsync(new byte[64 * 1024 * 1024]).AsTask();
        Assert.False(flushing.IsCompleted);
        Assert.False(test.Pipe.TryMoveTo(test.Second));
        Assert.Equal((1, 0), (test.First.HandleCount, test.Second.HandleCount));
        test.Pipe.Abort();
        Assert.True((await flushing.WaitAsync(_limit)).IsCompleted);
        Assert.False(test.Pipe.TryMoveTo(test.Second));
    }

    [Fact]
    public async Task A_loop_that_has_ended_takes_no_connection_and_the_connection_ends()
    {
        await using var test = await Connection.OpenAsync();
        test.Second.Dispose();
        Assert.False(test.Pipe.TryMoveTo(test.Second));
        Assert.Equal(1, test.Closed);
        await Assert.ThrowsAnyAsync<IOException>(async () => await test.Pipe.Input.ReadAsync());
        Assert.Equal(0, await test.Peer.ReceiveAsync(new byte[1]).WaitAsync(_limit, TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Nothing_is_lost_or_doubled_however_often_it_moves_while_the_peer_sends()
    {
        await using var test = await Connection.OpenAsync();
        const int Total = Moves * 10_000;
        var sending = Task.Run(async () =>
        {
            var bytes = new byte[Total];
            LoopbackPair.Fill(bytes, 3, 0);
            for (var sent = 0; sent < Total;)
            {
                sent += await test.Peer.SendAsync(bytes.AsMemory(sent, Math.Min(777, Total - sent)));
            }
        });
        await test.OnLoopAsync(async () =>
        {
            var expected = new byte[Total];
            LoopbackPair.Fill(expected, 3, 0);
            var moves = 0;
            for (var received = 0; received < Total;)
            {
                var read = await test.Pipe.Input.ReadAsync();
                Assert.True(read.Buffer.ToArray().AsSpan().SequenceEqual(expected.AsSpan(received, (int)read.Buffer.Length)));
                received += (int)read.Buffer.Length;
                test.Pipe.Input.AdvanceTo(read.Buffer.End);
                var other = test.Pipe.Loop == test.First ? test.Second : test.First;
                if (test.Pipe.TryMoveTo(other))
                {
                    moves++;
                    await new SchedulerYield(other);
                }
            }

            Assert.InRange(moves, 10, int.MaxValue);
        });
        await sending.WaitAsync(_limit, TestContext.Current.CancellationToken);
    }

    private static async Task<ReadResult> ReadAsync(PipeReader reader, int count) => await reader.ReadAtLeastAsync(count);

    private sealed class Connection : IAsyncDisposable
    {
        private readonly BufferPool _buffers = new();

        private Connection(Socket socket, Socket peer)
        {
            Peer = peer;
            Pipe = new CountingPipe(this, First, DescriptorOf.Take(socket), _buffers);
            Assert.Equal(0, Pipe.Register());
        }

        public EpollLoop First { get; } = new();

        public EpollLoop Second { get; } = new();

        public SocketDuplexPipe Pipe { get; }

        public Socket Peer { get; }

        public int Closed { get; private set; }

        public static async Task<Connection> OpenAsync()
        {
            var (left, right) = await LoopbackPair.ConnectAsync();
            return new Connection(left, right);
        }

        /// <summary>Begins on the first loop's thread, as code that serves a connection does.</summary>
        public async Task OnLoopAsync(Func<Task> body)
        {
            var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            First.Schedule(_ => RunAsync(), null);
            await done.Task.WaitAsync(_limit);

            async void RunAsync()
            {
                try
                {
                    await body();
                    done.SetResult();
                }
                catch (Exception exception)
                {
                    done.SetException(exception);
                }
            }
        }

        public async ValueTask DisposeAsync()
        {
            await Pipe.CloseAsync();
            Assert.Equal(0, _buffers.Outstanding);
            Assert.Equal(1, Closed);
            Assert.Equal((0, 0), (First.HandleCount, Second.HandleCount));
            Peer.Dispose();
            First.Dispose();
            Second.Dispose();
        }

        private sealed class CountingPipe(Connection connection, EpollLoop loop, int descriptor, BufferPool buffers)
            : SocketDuplexPipe(loop, descriptor, buffers)
        {
            protected override void OnDescriptorClosed() => connection.Closed++;
        }
    }
}
