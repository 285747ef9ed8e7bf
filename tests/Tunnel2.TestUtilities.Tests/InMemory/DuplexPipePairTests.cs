using System.IO.Pipelines;

namespace Tunnel2.TestUtilities.Tests.InMemory;

public sealed class DuplexPipePairTests
{
    [Fact]
    public async Task Each_end_reads_what_the_other_writes()
    {
        var pair = new DuplexPipePair();
        await pair.Left.Output.WriteAsync("to right"u8.ToArray());
        await pair.Right.Output.WriteAsync("to left"u8.ToArray());
        Assert.Equal("to right"u8.ToArray(), await ReadAsync(pair.Right.Input));
        Assert.Equal("to left"u8.ToArray(), await ReadAsync(pair.Left.Input));
    }

    [Fact]
    public async Task A_flush_waits_while_the_threshold_is_passed()
    {
        var pair = new DuplexPipePair(DuplexPipePair.CreateOptions(100), DuplexPipePair.CreateOptions(0));
        var flush = pair.Left.Output.WriteAsync(new byte[100]).AsTask();
        Assert.False(flush.IsCompleted);
        var unlimited = pair.Right.Output.WriteAsync(new byte[1_000_000]).AsTask();
        Assert.True(unlimited.IsCompletedSuccessfully);
        await unlimited;
        await ReadAsync(pair.Right.Input);
        await flush;
    }

    [Fact]
    public async Task An_abort_ends_a_waiting_read()
    {
        var pair = new DuplexPipePair();
        var read = pair.Left.Input.ReadAsync().AsTask();
        pair.Right.Output.Complete(new InvalidDataException("cut"));
        await Assert.ThrowsAsync<InvalidDataException>(() => read);
        pair.Abort();
        Assert.True((await pair.Right.Output.FlushAsync()).IsCompleted);
    }

    private static async Task<byte[]> ReadAsync(PipeReader reader)
    {
        var read = await reader.ReadAsync();
        byte[] bytes = [.. System.Buffers.BuffersExtensions.ToArray(read.Buffer)];
        reader.AdvanceTo(read.Buffer.End);
        return bytes;
    }
}
