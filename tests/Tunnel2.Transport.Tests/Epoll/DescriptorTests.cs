using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>Counts the process's descriptors, so nothing else may run beside it.</summary>
[CollectionDefinition(nameof(DescriptorTests), DisableParallelization = true)]
[Collection(nameof(DescriptorTests))]
public class DescriptorTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(40);

    [Fact]
    public async Task Ten_thousand_connections_leave_no_descriptor_and_no_buffer()
    {
        const int Count = 10_000;
        const int AtOnce = 100;
        var buffers = new BufferPool();
        using var loop = new EpollLoop();
        var before = 0;
        var served = 0;
        var answered = 0;
        var closed = new AsyncCounter("connections that were closed");
        using (var listener = OneLoopListener.Start(loop, LoopbackPair.Bind(), 1024, (descriptor, remote) =>
        {
            var pipe = new CountedPipe(loop, descriptor, buffers, closed);
            Assert.Equal(0, pipe.Register());
            _ = ServeAsync(pipe, Interlocked.Increment(ref served));
        }))
        {
            await CallAsync(1, 0);
            await AssertAllGoneAsync(1);
            before = CountDescriptors();
            await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(worker => CallAsync(Count / AtOnce, worker))).WaitAsync(_limit);
            await AssertAllGoneAsync(Count + 1);

            // A visitor that left at once still waits to be accepted: that there is none is known only when all have been.
            async Task AssertAllGoneAsync(int calls)
            {
                await closed.WaitForAsync(calls, _limit);
                Assert.Equal(calls, served);
                Assert.Equal(1, loop.HandleCount);
            }

            async Task CallAsync(int calls, int worker)
            {
                var buffer = new byte[100];
                for (var i = 0; i < calls; i++)
                {
                    using var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                    await client.ConnectAsync(listener.EndPoint);
                    await client.SendAsync(new byte[] { (byte)(worker + i) });
                    if ((worker + i) % 7 != 0 && await ReceiveAsync(client, buffer) == 1)
                    {
                        Assert.Equal((byte)(worker + i), buffer[0]);
                        Interlocked.Increment(ref answered);
                    }

                    if ((worker + i) % 3 == 0)
                    {
                        client.LingerState = new LingerOption(true, 0);
                    }
                }
            }
        }

        Assert.True(answered > Count / 2, $"{answered} answers");
        Assert.True(SpinWait.SpinUntil(() => buffers.Outstanding == 0, _limit));

        // The runtime keeps a descriptor or two for itself at any time.
        Assert.InRange(CountDescriptors(), 0, before + 5);
    }

    /// <summary>A server that aborts may take its own answer away.</summary>
    private static async Task<int> ReceiveAsync(Socket client, byte[] buffer)
    {
        try
        {
            return await client.ReceiveAsync(buffer);
        }
        catch (SocketException)
        {
            return 0;
        }
    }

    private static async Task ServeAsync(SocketDuplexPipe pipe, int number)
    {
        try
        {
            var read = await pipe.Input.ReadAsync();
            if (!read.Buffer.IsEmpty)
            {
                pipe.Output.GetSpan(1)[0] = read.Buffer.FirstSpan[0];
                pipe.Output.Advance(1);
                await pipe.Output.FlushAsync();
            }

            pipe.Input.AdvanceTo(read.Buffer.End);
            if (number % 5 == 0)
            {
                pipe.Abort();
            }
        }
        catch (IOException)
        {
        }
        finally
        {
            await pipe.CloseAsync();
        }
    }

    private sealed class CountedPipe(EpollLoop loop, int descriptor, BufferPool buffers, AsyncCounter closed)
        : SocketDuplexPipe(loop, descriptor, buffers)
    {
        protected override void OnDescriptorClosed() => closed.Increment();
    }

    private static int CountDescriptors() => Directory.GetFiles("/proc/self/fd").Length;
}
