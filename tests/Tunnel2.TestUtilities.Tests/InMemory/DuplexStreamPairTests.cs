namespace Tunnel2.TestUtilities.Tests.InMemory;

public sealed class DuplexStreamPairTests
{
    [Fact]
    public Task All_bytes_arrive_in_order_with_any_sizes_of_reads_and_writes() => SeededRandom.RunAsync(async random =>
    {
        const int Total = 200_000;
        using var pair = new DuplexStreamPair(capacity: 97);
        var sent = new byte[Total];
        PatternBytes.Fill(sent, 0);
        var writeSizes = new SeededRandom(random.Next());
        var writing = Task.Run(async () =>
        {
            for (var i = 0; i < Total;)
            {
                var length = Math.Min(writeSizes.Next(1, 500), Total - i);
                await pair.Left.WriteAsync(sent.AsMemory(i, length));
                i += length;
            }

            pair.Left.CompleteWrites();
        });
        var buffer = new byte[300];
        var position = 0;
        while (await pair.Right.ReadAsync(buffer.AsMemory(0, random.Next(1, buffer.Length))) is > 0 and var count)
        {
            PatternBytes.Verify(buffer.AsSpan(0, count), position);
            position += count;
        }

        await writing;
        Assert.Equal(Total, position);
    });

    [Fact]
    public async Task A_write_waits_while_the_buffer_is_full()
    {
        using var pair = new DuplexStreamPair(capacity: 10);
        await pair.Left.WriteAsync(new byte[10]);
        var write = pair.Left.WriteAsync(new byte[1]).AsTask();
        Assert.False(write.IsCompleted);
        Assert.Equal(10, pair.Right.UnreadBytes);
        Assert.Equal(1, await pair.Right.ReadAsync(new byte[1]));
        await write;
    }

    [Fact]
    public async Task A_half_close_ends_one_direction_only()
    {
        using var pair = new DuplexStreamPair();
        await pair.Left.WriteAsync("last"u8.ToArray());
        pair.Left.CompleteWrites();
        var buffer = new byte[10];
        Assert.Equal(4, await pair.Right.ReadAsync(buffer));
        Assert.Equal(0, await pair.Right.ReadAsync(buffer));
        await pair.Right.WriteAsync("answer"u8.ToArray());
        Assert.Equal(6, await pair.Left.ReadAsync(buffer));
        await Assert.ThrowsAsync<InvalidOperationException>(() => pair.Left.WriteAsync(buffer).AsTask());
    }

    [Fact]
    public async Task An_abort_fails_waiting_reads_and_writes_of_both_ends()
    {
        using var pair = new DuplexStreamPair(capacity: 4);
        var write = pair.Left.WriteAsync(new byte[5]).AsTask();
        var read = pair.Left.ReadAsync(new byte[5]).AsTask();
        pair.Right.Abort(new InvalidDataException("cut"));
        Assert.IsType<InvalidDataException>((await Assert.ThrowsAsync<IOException>(() => write)).InnerException);
        Assert.IsType<InvalidDataException>((await Assert.ThrowsAsync<IOException>(() => read)).InnerException);
        await Assert.ThrowsAsync<IOException>(() => pair.Right.ReadAsync(new byte[5]).AsTask());
    }

    [Fact]
    public async Task An_empty_read_waits_for_data_and_takes_none()
    {
        using var pair = new DuplexStreamPair();
        var wait = pair.Left.ReadAsync(Memory<byte>.Empty).AsTask();
        Assert.False(wait.IsCompleted);
        await pair.Right.WriteAsync(new byte[3]);
        Assert.Equal(0, await wait);
        Assert.Equal(3, await pair.Left.ReadAsync(new byte[10]));
    }

    [Fact]
    public async Task Disposing_one_end_ends_the_other_ones_reads_and_fails_its_writes()
    {
        using var pair = new DuplexStreamPair();
        await pair.Left.DisposeAsync();
        Assert.Equal(0, await pair.Right.ReadAsync(new byte[1]));
        await Assert.ThrowsAsync<IOException>(() => pair.Right.WriteAsync(new byte[1]).AsTask());
        await Assert.ThrowsAsync<ObjectDisposedException>(() => pair.Left.ReadAsync(new byte[1]).AsTask());
    }

    [Fact]
    public async Task A_cancelled_read_takes_nothing()
    {
        using var pair = new DuplexStreamPair();
        using var cancel = new CancellationTokenSource();
        var read = pair.Left.ReadAsync(new byte[1], cancel.Token).AsTask();
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => read);
        await pair.Right.WriteAsync(new byte[2]);
        Assert.Equal(2, pair.Left.UnreadBytes);
    }
}
