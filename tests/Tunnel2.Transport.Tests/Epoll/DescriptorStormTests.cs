using System.Buffers;
using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>
/// Connections move between loops at random while threads open and close descriptors, so that a number that is free is another
/// thread's at once. A close too many, or a call on a number that was closed, shows: in another connection's bytes, or at those who open
/// and close beside it.
/// </summary>
[Collection(nameof(DescriptorTests))]
public sealed class DescriptorStormTests
{
    private const int Loops = 3;
    private const int Visitors = 24;

    private static readonly TimeSpan _length = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Fact]
    public Task No_connection_sees_anothers_bytes_and_every_descriptor_is_closed_once() => SeededRandom.RunAsync(async random =>
    {
        // Everything once, so that what the runtime opens for good is open when they are counted.
        await new Storm(random.Next()).RunAsync(TimeSpan.FromMilliseconds(300));
        var before = CountDescriptors();
        var storm = new Storm(random.Next());
        await storm.RunAsync(_length);

        // The runtime keeps a descriptor or two for itself at any time.
        Assert.InRange(CountDescriptors(), 0, before + 5);
        TestContext.Current.TestOutputHelper?.WriteLine(storm.ToString());
        Assert.True(storm.Moves > 100 && storm.Exchanges > 100, storm.ToString());
    });

    /// <summary>Sockets, loops and events. Not files: the runtime opens those of an assembly when it is first used.</summary>
    private static int CountDescriptors() =>
        Directory.GetFiles("/proc/self/fd").Count(static path => new FileInfo(path).LinkTarget is { } target && target[0] != '/');

    /// <summary>The byte of a connection's flow at a position: each depends on all of both.</summary>
    private static byte At(ulong flow, long position)
    {
        var x = (flow * 0x9E3779B97F4A7C15UL) + (ulong)position;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9UL;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBUL;
        return (byte)(x ^ (x >> 31));
    }

    private static byte[] Make(ulong flow, long position, int count)
    {
        var bytes = new byte[count];
        for (var i = 0; i < count; i++)
        {
            bytes[i] = At(flow, position + i);
        }

        return bytes;
    }

    private sealed class Storm(int seed)
    {
        private readonly EpollLoop[] _loops = [.. Enumerable.Range(0, Loops).Select(static number => new EpollLoop(number: number))];
        private readonly ConcurrentDictionary<ServedPipe, byte> _open = new();
        private readonly ConcurrentQueue<string> _wrong = new();
        private readonly BufferPool _buffers = new();
        private int _nextConnection;
        private int _accepted;
        private int _closed;
        private int _moves;
        private int _exchanges;
        private int _resets;
        private long _churned;
        private volatile bool _isOver;

        public int Moves => _moves;

        public int Exchanges => _exchanges;

        public override string ToString() =>
            $"{_accepted} connections, {_moves} moves, {_exchanges} exchanges, {_resets} resets, {_churned} descriptors of others; "
                + $"{string.Join("; ", _wrong.Take(5))}";

        public async Task RunAsync(TimeSpan length)
        {
            var listeners = EpollListener.StartAll(_loops, LoopbackPair.Bind(), 1024, Serve, null, null);
            var endPoint = listeners[0].EndPoint;
            using var over = new CancellationTokenSource(length);
            over.Token.Register(() => _isOver = true);
            var threads = new[] { new Thread(ChurnEvents), new Thread(ChurnSockets), new Thread(() => MoveOthers(new Random(seed))) };
            Array.ForEach(threads, static thread => thread.Start());
            var visits = Task.WhenAll(
                Enumerable.Range(0, Visitors).Select(visitor => Task.Run(() => VisitAsync(endPoint, new Random(seed + visitor)))));
            await visits.WaitAsync(_limit).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            Assert.True(visits.IsCompletedSuccessfully, $"{visits.Exception}; {this}");
            Array.ForEach(threads, static thread => Assert.True(thread.Join(_limit)));
            await Task.WhenAll(listeners.Select(static listener => listener.StopAsync())).WaitAsync(_limit);
            Assert.True(
                SpinWait.SpinUntil(() => _open.IsEmpty && _buffers.Outstanding == 0, _limit),
                $"{_open.Count} connections, {_buffers.Outstanding} buffers are left; {this}");
            Assert.True(_wrong.IsEmpty, ToString());
            Assert.Equal(_accepted, _closed);
            Assert.All(_loops, static loop => Assert.Equal(0, loop.HandleCount));
            Assert.All(_loops, static loop => Assert.Equal(0, loop.Faults.Count));
            Array.ForEach(_loops, static loop => loop.Dispose());
        }

        private static ulong FlowOf(int connection, bool isAnswer) => ((ulong)connection << 1) | (isAnswer ? 1UL : 0);

        private void Serve(EpollLoop loop, int descriptor, IPEndPoint? peer)
        {
            Interlocked.Increment(ref _accepted);
            var pipe = new ServedPipe(this, loop, descriptor, _buffers);

            // Then it may be moved.
            Assert.Equal(0, pipe.Register());
            _open.TryAdd(pipe, 0);
            _ = ServeAsync(pipe, new Random(seed ^ _accepted));
        }

        /// <summary>Compares what comes, answers as many bytes of the other flow, and moves in between.</summary>
        private async Task ServeAsync(ServedPipe pipe, Random random)
        {
            try
            {
                var connection = -1;
                for (var position = 0L; ;)
                {
                    var read = connection < 0 ? await pipe.Input.ReadAtLeastAsync(sizeof(int)) : await pipe.Input.ReadAsync();
                    if (connection < 0 && read.Buffer.Length >= sizeof(int))
                    {
                        connection = BitConverter.ToInt32(read.Buffer.Slice(0, sizeof(int)).ToArray());
                        pipe.Input.AdvanceTo(read.Buffer.GetPosition(sizeof(int)));
                        await TryMoveAsync(pipe, random);
                        continue;
                    }

                    var bytes = read.Buffer.ToArray();
                    pipe.Input.AdvanceTo(read.Buffer.End);
                    if (bytes.Length == 0)
                    {
                        break;
                    }

                    Compare("request", connection, isAnswer: false, position, bytes);
                    await TryMoveAsync(pipe, random);
                    if (random.Next(60) == 0)
                    {
                        pipe.Abort();
                        return;
                    }

                    await pipe.Output.WriteAsync(Make(FlowOf(connection, true), position, bytes.Length));
                    position += bytes.Length;
                }
            }
            catch (IOException)
            {
                // The visitor has reset it.
            }
            catch (Exception exception)
            {
                _wrong.Enqueue(exception.ToString());
            }
            finally
            {
                await pipe.CloseAsync();
                _open.TryRemove(pipe, out _);
            }
        }

        /// <summary>As a request's head does.</summary>
        private async ValueTask TryMoveAsync(ServedPipe pipe, Random random)
        {
            var loop = _loops[random.Next(Loops)];
            if (loop != pipe.Loop && pipe.TryMoveTo(loop))
            {
                Interlocked.Increment(ref _moves);
                await new SchedulerYield(loop);
            }
        }

        private async Task VisitAsync(IPEndPoint endPoint, Random random)
        {
            while (!_isOver)
            {
                var connection = Interlocked.Increment(ref _nextConnection);
                using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                try
                {
                    await socket.ConnectAsync(endPoint);
                    await socket.SendAsync(BitConverter.GetBytes(connection));
                    await ExchangeAsync(socket, connection, random);
                }
                catch (SocketException)
                {
                    // The server has reset it.
                }

                if (random.Next(3) != 0)
                {
                    Interlocked.Increment(ref _resets);
                    socket.LingerState = new LingerOption(true, 0);
                }
            }
        }

        private async Task ExchangeAsync(Socket socket, int connection, Random random)
        {
            var buffer = new byte[32 * 1024];
            var position = 0L;
            for (var rounds = random.Next(12); rounds > 0; rounds--)
            {
                var count = random.Next(1, random.Next(4) == 0 ? 30_000 : 300);
                await socket.SendAsync(Make(FlowOf(connection, false), position, count));
                if (random.Next(25) == 0)
                {
                    // It leaves in the middle.
                    return;
                }

                for (var left = count; left > 0;)
                {
                    var received = await socket.ReceiveAsync(buffer.AsMemory(0, Math.Min(left, buffer.Length))).AsTask().WaitAsync(_limit);
                    if (received == 0)
                    {
                        return;
                    }

                    Compare("answer", connection, isAnswer: true, position, buffer.AsSpan(0, received));
                    position += received;
                    left -= received;
                }

                Interlocked.Increment(ref _exchanges);
            }
        }

        private void Compare(string what, int connection, bool isAnswer, long position, ReadOnlySpan<byte> bytes)
        {
            for (var i = 0; i < bytes.Length; i++)
            {
                if (bytes[i] != At(FlowOf(connection, isAnswer), position + i))
                {
                    _wrong.Enqueue($"byte {position + i} of the {what} of connection {connection} is another's");
                    return;
                }
            }
        }

        /// <summary>Moves connections that it does not serve, from a thread of its own.</summary>
        private void MoveOthers(Random random)
        {
            while (!_isOver)
            {
                foreach (var (pipe, _) in _open)
                {
                    if (random.Next(4) == 0 && pipe.TryMoveTo(_loops[random.Next(Loops)]))
                    {
                        Interlocked.Increment(ref _moves);
                    }
                }

                Thread.Yield();
            }
        }

        /// <summary>Opens and closes numbers. One that another thread has closed in that time cannot be closed again.</summary>
        private void ChurnEvents()
        {
            Span<int> descriptors = stackalloc int[8];
            while (!_isOver)
            {
                for (var i = 0; i < descriptors.Length; i++)
                {
                    descriptors[i] = Libc.EventDescriptor(0, Libc.OpenNonBlock | Libc.EpollCloseOnExec);
                }

                Thread.Yield();
                foreach (var descriptor in descriptors)
                {
                    _churned++;
                    if (descriptor < 0 || Libc.Close(descriptor) != 0)
                    {
                        _wrong.Enqueue($"descriptor {descriptor} was closed by another");
                        return;
                    }
                }
            }
        }

        /// <summary>Opens sockets, sends bytes through them and closes them. What another thread sends or receives there by mistake is
        /// missing or too much.</summary>
        private void ChurnSockets()
        {
            using var listener = LoopbackPair.Bind();
            listener.Listen(16);
            Span<byte> bytes = stackalloc byte[64];
            Span<byte> received = stackalloc byte[128];
            for (var number = 1; !_isOver; number++)
            {
                using var left = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                left.Connect(listener.LocalEndPoint!);
                using var right = listener.Accept();
                right.ReceiveTimeout = 10_000;
                bytes.Fill((byte)number);
                left.Send(bytes);
                var count = 0;
                while (count < bytes.Length && right.Receive(received[count..]) is > 0 and var more)
                {
                    count += more;
                }

                if (!received[..count].SequenceEqual(bytes))
                {
                    _wrong.Enqueue($"{count} bytes came through a pair of sockets, and not those that were sent");
                    return;
                }

                left.LingerState = new LingerOption(true, 0);
            }
        }

        private sealed class ServedPipe(Storm storm, EpollLoop loop, int descriptor, BufferPool buffers)
            : SocketDuplexPipe(loop, descriptor, buffers)
        {
            private int _closings;

            protected override void OnDescriptorClosed()
            {
                Interlocked.Increment(ref storm._closed);
                if (Interlocked.Increment(ref _closings) != 1)
                {
                    storm._wrong.Enqueue("a connection was closed twice");
                }
            }
        }
    }
}
