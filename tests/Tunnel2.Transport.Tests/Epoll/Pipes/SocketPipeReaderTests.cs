using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.Transport.Tests.Epoll.Pipes;

/// <summary>Each test runs over the reader of a <see cref="Pipe"/> too, so that what it asks for is what a consumer is used to.</summary>
public class SocketPipeReaderTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task What_was_not_examined_comes_back_at_once(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        await test.WriteAsync(new byte[] { 1, 2, 3, 4 });
        var read = await ReadAsync(test.Reader, 4);
        test.Reader.AdvanceTo(read.Buffer.GetPosition(1), read.Buffer.GetPosition(2));
        var again = test.Reader.ReadAsync().AsTask();
        Assert.True(again.IsCompleted);
        Assert.Equal([2, 3, 4], (await again).Buffer.ToArray());
        test.Reader.AdvanceTo((await again).Buffer.End);
    }

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task What_was_examined_waits_for_more(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        await test.WriteAsync(new byte[] { 1, 2, 3 });
        var read = await ReadAsync(test.Reader, 3);
        test.Reader.AdvanceTo(read.Buffer.Start, read.Buffer.End);
        var more = test.Reader.ReadAsync();
        Assert.False(more.IsCompleted);
        await test.WriteAsync(new byte[] { 4 });
        read = await more.AsTask().WaitAsync(_limit);
        Assert.Equal([1, 2, 3, 4], read.Buffer.ToArray());
        Assert.False(read.IsCompleted);
        test.Reader.AdvanceTo(read.Buffer.End);
        Assert.False(test.Reader.TryRead(out _));
    }

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task A_cancelled_wait_gives_what_is_there_and_reading_continues(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        await test.WriteAsync(new byte[] { 1 });
        var read = await ReadAsync(test.Reader, 1);
        test.Reader.AdvanceTo(read.Buffer.Start, read.Buffer.End);
        var waiting = test.Reader.ReadAsync().AsTask();
        Assert.False(waiting.IsCompleted);
        test.Reader.CancelPendingRead();
        read = await waiting.WaitAsync(_limit);
        Assert.True(read.IsCanceled);
        Assert.False(read.IsCompleted);
        Assert.Equal([1], read.Buffer.ToArray());
        test.Reader.AdvanceTo(read.Buffer.Start, read.Buffer.End);
        waiting = test.Reader.ReadAsync().AsTask();
        Assert.False(waiting.IsCompleted);
        await test.WriteAsync(new byte[] { 2 });
        read = await waiting.WaitAsync(_limit);
        Assert.False(read.IsCanceled);
        Assert.Equal([1, 2], read.Buffer.ToArray());
        test.Reader.AdvanceTo(read.Buffer.End);
    }

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task A_cancel_without_a_wait_is_for_the_next_read(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        test.Reader.CancelPendingRead();
        var read = await test.Reader.ReadAsync().AsTask().WaitAsync(_limit);
        Assert.True(read.IsCanceled);
        Assert.True(read.Buffer.IsEmpty);

        // Without an advance in between, which a cancelled read does not ask for.
        var waiting = test.Reader.ReadAsync().AsTask();
        Assert.False(waiting.IsCompleted);
        await test.WriteAsync(new byte[] { 7 });
        read = await waiting.WaitAsync(_limit);
        Assert.False(read.IsCanceled);
        test.Reader.AdvanceTo(read.Buffer.End);
        test.Reader.CancelPendingRead();
        Assert.True(test.Reader.TryRead(out read));
        Assert.True(read.IsCanceled);
        test.Reader.AdvanceTo(read.Buffer.End);
    }

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task A_token_ends_its_own_wait_only(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        for (var i = 0; i < 20; i++)
        {
            using var cancel = new CancellationTokenSource();
            var waiting = test.Reader.ReadAsync(cancel.Token).AsTask();
            await cancel.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.WaitAsync(_limit));
            await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await test.Reader.ReadAsync(cancel.Token));
            await test.WriteAsync(new byte[] { (byte)i });
            var read = await test.Reader.ReadAsync().AsTask().WaitAsync(_limit);
            Assert.Equal([(byte)i], read.Buffer.ToArray());
            test.Reader.AdvanceTo(read.Buffer.End);
        }
    }

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task The_end_comes_with_what_is_left_and_stays(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        await test.WriteAsync(new byte[] { 1, 2, 3 });
        await test.EndAsync();
        var read = await ReadAsync(test.Reader, 3);
        test.Reader.AdvanceTo(read.Buffer.GetPosition(2), read.Buffer.End);
        read = await test.Reader.ReadAsync().AsTask().WaitAsync(_limit);
        Assert.True(read.IsCompleted);
        Assert.Equal([3], read.Buffer.ToArray());
        test.Reader.AdvanceTo(read.Buffer.End);
        read = await test.Reader.ReadAsync().AsTask().WaitAsync(_limit);
        Assert.True(read.IsCompleted);
        Assert.True(read.Buffer.IsEmpty);
        test.Reader.AdvanceTo(read.Buffer.End);
    }

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task Misuse_is_reported(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        await test.WriteAsync(new byte[] { 1, 2 });
        var read = await ReadAsync(test.Reader, 2);
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await test.Reader.ReadAsync());
        Assert.Throws<InvalidOperationException>(() => test.Reader.AdvanceTo(read.Buffer.End, read.Buffer.Start));
        test.Reader.AdvanceTo(read.Buffer.End);
        test.Reader.Complete();
        test.Reader.Complete();
        await Assert.ThrowsAsync<InvalidOperationException>(async () => await test.Reader.ReadAsync());
        Assert.Throws<InvalidOperationException>(() => test.Reader.TryRead(out _));
    }

    [Theory]
    [InlineData("pipe")]
    [InlineData("socket")]
    public async Task A_read_of_at_least_so_much_waits_for_it(string kind)
    {
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        await test.WriteAsync(new byte[10]);
        var reading = test.Reader.ReadAtLeastAsync(10_000).AsTask();
        await test.WriteAsync(new byte[5_000]);
        Assert.False(reading.IsCompleted);
        await test.WriteAsync(new byte[5_000]);
        var read = await reading.WaitAsync(_limit);
        Assert.InRange(read.Buffer.Length, 10_000, 10_010);
        test.Reader.AdvanceTo(read.Buffer.End);
        await test.EndAsync();
        read = await test.Reader.ReadAtLeastAsync(10_000).AsTask().WaitAsync(_limit);
        Assert.True(read.IsCompleted);
        test.Reader.AdvanceTo(read.Buffer.End);
    }

    [Theory]
    [InlineData("pipe", 1)]
    [InlineData("socket", 1)]
    [InlineData("socket", 2)]
    [InlineData("socket", 3)]
    [InlineData("socket", 4)]
    public async Task Random_steps_lose_and_double_nothing(string kind, int seed)
    {
        const int Length = 2_000_000;
        await using var test = await ReaderUnderTest.CreateAsync(kind);
        var random = new Random(seed);
        var writing = Task.Run(async () =>
        {
            var pieces = new Random(seed + 100);
            var bytes = new byte[100_000];
            for (var sent = 0; sent < Length;)
            {
                var count = Math.Min(pieces.Next(3) == 0 ? pieces.Next(1, bytes.Length) : pieces.Next(1, 300), Length - sent);
                LoopbackPair.Fill(bytes.AsSpan(0, count), seed, sent);
                await test.WriteAsync(bytes.AsMemory(0, count));
                sent += count;
            }

            await test.EndAsync();
        });
        var expected = new byte[Length];
        LoopbackPair.Fill(expected, seed, 0);
        long consumed = 0;
        long examined = 0;
        while (true)
        {
            if (random.Next(10) == 0)
            {
                test.Reader.CancelPendingRead();
            }

            var read = await test.Reader.ReadAsync().AsTask().WaitAsync(_limit);
            var offset = consumed;
            foreach (var segment in read.Buffer)
            {
                Assert.True(
                    segment.Span.SequenceEqual(expected.AsSpan((int)offset, segment.Length)), $"Wrong behind {offset}, seed {seed}.");
                offset += segment.Length;
            }

            if (read.IsCompleted && consumed + read.Buffer.Length == Length)
            {
                test.Reader.AdvanceTo(read.Buffer.End);
                break;
            }

            // Never back behind what was examined, which a Pipe refuses.
            var take = read.Buffer.Length == 0 ? 0 : random.NextInt64(read.Buffer.Length + 1);
            var look = Math.Max(examined - consumed, take + random.NextInt64(read.Buffer.Length - take + 1));
            test.Reader.AdvanceTo(read.Buffer.GetPosition(take), read.Buffer.GetPosition(look));
            consumed += take;
            examined = consumed - take + look;
        }

        await writing.WaitAsync(_limit);
    }

    [Fact]
    public async Task A_silent_connection_holds_no_buffer()
    {
        using var loop = new EpollLoop();
        var buffers = new BufferPool();
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var pipe = new SocketDuplexPipe(loop, DescriptorOf.Take(left), buffers);
            Assert.Equal(0, pipe.Register());
            var waiting = pipe.Input.ReadAsync().AsTask();
            Assert.Equal(0, buffers.Outstanding);
            await right.SendAsync(new byte[10]);
            var read = await waiting.WaitAsync(_limit);
            Assert.Equal(1, buffers.Outstanding);
            pipe.Input.AdvanceTo(read.Buffer.End);
            Assert.Equal(0, buffers.Outstanding);
            await pipe.CloseAsync();
        }
    }

    [Fact]
    public async Task A_reset_fails_the_read_that_waits()
    {
        using var loop = new EpollLoop();
        var (left, right) = await LoopbackPair.ConnectAsync();
        var pipe = new SocketDuplexPipe(loop, DescriptorOf.Take(left), new BufferPool());
        Assert.Equal(0, pipe.Register());
        var waiting = pipe.Input.ReadAsync().AsTask();
        right.LingerState = new LingerOption(true, 0);
        right.Dispose();
        await Assert.ThrowsAsync<IOException>(() => waiting.WaitAsync(_limit));
        await Assert.ThrowsAsync<IOException>(async () => await pipe.Input.ReadAsync());
        await pipe.CloseAsync();
    }

    private static async Task<ReadResult> ReadAsync(PipeReader reader, int length)
    {
        var read = await reader.ReadAtLeastAsync(length).AsTask().WaitAsync(_limit);
        Assert.Equal(length, read.Buffer.Length);
        return read;
    }
}
