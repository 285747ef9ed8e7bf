using System.Buffers;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.Transport.Tests.Epoll.Pipes;

public sealed class SocketPipeWriterTests : IAsyncLifetime
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();
    private readonly BufferPool _buffers = new();
    private SocketDuplexPipe _pipe = null!;
    private Socket _peer = null!;

    public async ValueTask InitializeAsync()
    {
        (var left, _peer) = await LoopbackPair.ConnectAsync();
        _pipe = new SocketDuplexPipe(_loop, DescriptorOf.Take(left), _buffers);
        Assert.Equal(0, _pipe.Register());
    }

    public async ValueTask DisposeAsync()
    {
        _pipe.Abort();
        await _pipe.CloseAsync();
        Assert.Equal(0, _buffers.Outstanding);
        _peer.Dispose();
        _loop.Dispose();
    }

    [Fact]
    public async Task Nothing_is_sent_before_the_flush()
    {
        _pipe.Output.Write(new byte[] { 1, 2 });
        _pipe.Output.GetSpan(1)[0] = 3;
        _pipe.Output.Advance(1);
        Assert.Equal(3, _pipe.Output.UnflushedBytes);
        Assert.False(_peer.Poll(0, SelectMode.SelectRead));
        var flush = await _pipe.Output.FlushAsync();
        Assert.False(flush.IsCanceled);
        Assert.False(flush.IsCompleted);
        Assert.Equal(0, _pipe.Output.UnflushedBytes);
        Assert.Equal([1, 2, 3], await ReceiveAsync(3));
        Assert.Equal(0, _buffers.Outstanding);
    }

    [Fact]
    public async Task Writes_of_every_size_arrive_in_order()
    {
        var random = new Random(5);
        const int Length = 3_000_000;
        var receiving = Task.Run(() => ReceiveAsync(Length));
        for (var written = 0; written < Length;)
        {
            var count = Math.Min(random.Next(4) == 0 ? random.Next(1, 200_000) : random.Next(1, 5000), Length - written);
            if (random.Next(2) == 0)
            {
                LoopbackPair.Fill(_pipe.Output.GetSpan(count)[..count], 9, written);
                _pipe.Output.Advance(count);
                if (random.Next(3) == 0)
                {
                    await _pipe.Output.FlushAsync().AsTask().WaitAsync(_limit);
                }
            }
            else
            {
                var bytes = new byte[count];
                LoopbackPair.Fill(bytes, 9, written);
                await _pipe.Output.WriteAsync(bytes).AsTask().WaitAsync(_limit);
            }

            written += count;
        }

        await _pipe.Output.FlushAsync().AsTask().WaitAsync(_limit);
        var expected = new byte[Length];
        LoopbackPair.Fill(expected, 9, 0);
        Assert.True((await receiving.WaitAsync(_limit)).AsSpan().SequenceEqual(expected));
    }

    [Fact]
    public async Task A_cancelled_flush_continues_sending_and_the_next_waits_for_it()
    {
        const int Length = 20_000_000;
        var bytes = new byte[Length];
        LoopbackPair.Fill(bytes, 2, 0);
        var flushing = _pipe.Output.WriteAsync(bytes).AsTask();
        Assert.False(flushing.IsCompleted);
        _pipe.Output.CancelPendingFlush();
        var flush = await flushing.WaitAsync(_limit);
        Assert.True(flush.IsCanceled);
        _pipe.Output.Write(new byte[] { 42 });
        flushing = _pipe.Output.FlushAsync().AsTask();
        Assert.False(flushing.IsCompleted);
        var received = await Task.Run(() => ReceiveAsync(Length + 1)).WaitAsync(_limit);
        Assert.False((await flushing.WaitAsync(_limit)).IsCanceled);
        Assert.True(received.AsSpan(0, Length).SequenceEqual(bytes));
        Assert.Equal(42, received[Length]);
    }

    [Fact]
    public async Task A_cancel_without_a_flush_is_for_the_next_which_sends_all_the_same()
    {
        _pipe.Output.CancelPendingFlush();
        Assert.True((await _pipe.Output.WriteAsync(new byte[] { 1 })).IsCanceled);
        Assert.Equal([1], await ReceiveAsync(1));
        Assert.False((await _pipe.Output.WriteAsync(new byte[] { 2 })).IsCanceled);
        Assert.Equal([2], await ReceiveAsync(1));
    }

    [Fact]
    public async Task A_token_ends_its_flush()
    {
        using var cancel = new CancellationTokenSource();
        var flushing = _pipe.Output.WriteAsync(new byte[20_000_000], cancel.Token).AsTask();
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => flushing.WaitAsync(_limit));
        await Task.Run(() => ReceiveAsync(20_000_000)).WaitAsync(_limit);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await _pipe.Output.FlushAsync(cancel.Token));
    }

    [Fact]
    public async Task Completing_sends_what_was_not_flushed_and_then_the_end()
    {
        _pipe.Output.Write(new byte[] { 1, 2, 3 });
        _pipe.Output.Complete();
        _pipe.Output.Complete();
        Assert.Equal([1, 2, 3], await ReceiveAsync(3));
        Assert.Equal(0, await _peer.ReceiveAsync(new byte[10]).WaitAsync(_limit));
        Assert.Throws<InvalidOperationException>(() => _pipe.Output.GetSpan(1).Length);

        // The other direction is still open.
        await _peer.SendAsync(new byte[4]);
        var read = await _pipe.Input.ReadAsync().AsTask().WaitAsync(_limit);
        Assert.Equal(4, read.Buffer.Length);
        _pipe.Input.AdvanceTo(read.Buffer.End);
    }

    [Fact]
    public async Task Closing_waits_until_a_slow_peer_has_taken_everything()
    {
        const int Length = 20_000_000;
        var bytes = new byte[Length];
        LoopbackPair.Fill(bytes, 6, 0);
        bytes.CopyTo(_pipe.Output.GetSpan(Length));
        _pipe.Output.Advance(Length);
        var closing = _pipe.CloseAsync().AsTask();
        Assert.False(closing.IsCompleted);
        Assert.True((await Task.Run(() => ReceiveAsync(Length)).WaitAsync(_limit)).AsSpan().SequenceEqual(bytes));
        Assert.Equal(0, await _peer.ReceiveAsync(new byte[1]).WaitAsync(_limit));
        await closing.WaitAsync(_limit);
    }

    [Fact]
    public async Task Unread_bytes_of_the_peer_do_not_take_our_last_ones_from_it()
    {
        await _peer.SendAsync(new byte[100_000]);
        var read = await _pipe.Input.ReadAsync().AsTask().WaitAsync(_limit);
        _pipe.Input.AdvanceTo(read.Buffer.Start, read.Buffer.GetPosition(1));
        await _pipe.Output.WriteAsync(new byte[50_000]);
        var closing = _pipe.CloseAsync().AsTask();
        await _peer.SendAsync(new byte[100_000]);
        Assert.Equal(50_000, (await Task.Run(() => ReceiveAsync(50_000)).WaitAsync(_limit)).Length);
        Assert.Equal(0, await _peer.ReceiveAsync(new byte[1]).WaitAsync(_limit));
        _peer.Shutdown(SocketShutdown.Send);
        await closing.WaitAsync(_limit);
    }

    [Fact]
    public async Task A_flush_to_a_peer_that_is_gone_ends_as_completed()
    {
        _peer.LingerState = new LingerOption(true, 0);
        var flushing = _pipe.Output.WriteAsync(new byte[20_000_000]).AsTask();
        _peer.Dispose();
        Assert.True((await flushing.WaitAsync(_limit)).IsCompleted);
        Assert.True((await _pipe.Output.WriteAsync(new byte[10])).IsCompleted);
        Assert.True((await _pipe.Output.WriteAsync(new byte[100_000])).IsCompleted);
    }

    [Fact]
    public async Task An_abort_ends_a_flush_and_resets_the_peer()
    {
        var flushing = _pipe.Output.WriteAsync(new byte[20_000_000]).AsTask();
        _pipe.Abort();
        Assert.True((await flushing.WaitAsync(_limit)).IsCompleted);
        await Assert.ThrowsAsync<SocketException>(async () =>
        {
            while (await _peer.ReceiveAsync(new byte[100_000]).WaitAsync(_limit) > 0)
            {
            }
        });
    }

    [Fact]
    public async Task Completing_with_an_error_resets_the_peer()
    {
        _pipe.Output.Write(new byte[] { 1 });
        _pipe.Output.Complete(new InvalidDataException());
        await Assert.ThrowsAsync<SocketException>(() => _peer.ReceiveAsync(new byte[10]).WaitAsync(_limit));
    }

    [Fact]
    public async Task Away_from_the_loop_its_users_continue_on_the_pool()
    {
        // Bytes that arrive before the reader has said what it wants to continue with are its own thread's to read: then the next read has
        // its chance.
        const int Most = 50;
        var rounds = 0;
        var runsOnLoop = new WaitSignal("the reader has said what it wants to continue with");
        var ended = new AsyncCounter("rounds of the reader");
        _pipe.RunsOnLoop = false;
        var onPool = Task.Run(async () =>
        {
            var read = await _pipe.Input.ReadAsync().ConfigureAwait(false);
            var isPool = Thread.CurrentThread.IsThreadPoolThread && !_loop.IsCurrent;
            _pipe.Input.AdvanceTo(read.Buffer.End);
            _pipe.RunsOnLoop = true;
            runsOnLoop.Set();
            do
            {
                read = await _pipe.Input.ReadAsync().ConfigureAwait(false);
                _pipe.Input.AdvanceTo(read.Buffer.End);
                rounds++;
                ended.Increment();
            }
            while (!_loop.IsCurrent && rounds < Most);
            return (isPool, _loop.IsCurrent);
        });
        await _peer.SendAsync(new byte[1]);
        await runsOnLoop.WaitAsync(_limit);
        for (var sent = 1; !onPool.IsCompleted && sent <= Most; sent++)
        {
            await _peer.SendAsync(new byte[1]);
            await Task.WhenAny(ended.WaitForAsync(sent, _limit), onPool);
        }

        Assert.Equal((true, true), await onPool.WaitAsync(_limit));
    }

    private async Task<byte[]> ReceiveAsync(int length)
    {
        var bytes = new byte[length];
        for (var total = 0; total < length;)
        {
            var count = await _peer.ReceiveAsync(bytes.AsMemory(total)).AsTask().WaitAsync(_limit);
            Assert.NotEqual(0, count);
            total += count;
        }

        return bytes;
    }
}
