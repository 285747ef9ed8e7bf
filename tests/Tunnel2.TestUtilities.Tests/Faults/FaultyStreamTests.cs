namespace Tunnel2.TestUtilities.Tests.Faults;

public sealed class FaultyStreamTests
{
    [Fact]
    public async Task The_chosen_write_and_all_later_ones_fail_after_the_bytes_that_still_go_through()
    {
        using var inner = new MemoryStream();
        await using var stream = new FaultyStream(inner) { FailWritesFrom = 2, BytesBeforeWriteFailure = 3 };
        await stream.WriteAsync(new byte[10]);
        await Assert.ThrowsAsync<IOException>(() => stream.WriteAsync(new byte[10]).AsTask());
        await Assert.ThrowsAsync<IOException>(() => stream.WriteAsync(new byte[10]).AsTask());
        Assert.Equal((3, 13L, 13L), (stream.WriteCalls, stream.BytesWritten, inner.Length));
    }

    [Fact]
    public async Task The_chosen_read_fails_with_the_chosen_exception()
    {
        using var inner = new MemoryStream(new byte[100]);
        await using var stream = new FaultyStream(inner) { FailReadsFrom = 2, Failure = () => new InvalidDataException("cut") };
        Assert.Equal(10, await stream.ReadAsync(new byte[10]));
        await Assert.ThrowsAsync<InvalidDataException>(() => stream.ReadAsync(new byte[10]).AsTask());
        Assert.Equal((2, 10L), (stream.ReadCalls, stream.BytesRead));
    }

    [Fact]
    public async Task A_stalled_call_continues_with_the_signal()
    {
        using var inner = new MemoryStream();
        var signal = new WaitSignal("go on");
        await using var stream = new FaultyStream(inner) { StallWritesUntil = signal, StallWritesFrom = 2 };
        await stream.WriteAsync(new byte[1]);
        var write = stream.WriteAsync(new byte[1]).AsTask();
        await stream.Stalled.WaitForAsync(1);
        Assert.Equal(1, inner.Length);
        Assert.False(write.IsCompleted);
        signal.Set();
        await write;
        Assert.Equal(2, inner.Length);
    }

    [Fact]
    public Task Torn_writes_and_reads_carry_the_same_bytes() => SeededRandom.RunAsync(async random =>
    {
        using var pair = new DuplexStreamPair(capacity: 10_000);
        var counting = new FaultyStream(pair.Left);
        await using var writer = new FaultyStream(counting) { Tear = random };
        await using var reader = new FaultyStream(pair.Right) { Tear = random };
        var sent = random.NextBytes(5000);
        await writer.WriteAsync(sent);
        await writer.FlushAsync();
        var received = new byte[sent.Length];
        await reader.ReadExactlyAsync(received);
        Assert.Equal(sent, received);
        Assert.Equal((1, 1), (writer.WriteCalls, writer.FlushCalls));
        Assert.InRange(counting.WriteCalls, sent.Length / 7, sent.Length);
        Assert.InRange(reader.ReadCalls, sent.Length / 7, sent.Length);
    });
}
