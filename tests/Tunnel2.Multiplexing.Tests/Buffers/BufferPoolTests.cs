using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.Multiplexing.Tests.Buffers;

public class BufferPoolTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(1024)]
    [InlineData(1025)]
    [InlineData(16 * 1024)]
    [InlineData((16 * 1024) + 1)]
    [InlineData(32 * 1024)]
    [InlineData((32 * 1024) + 1)]
    [InlineData(1024 * 1024)]
    public void A_buffer_is_at_least_as_long_as_was_asked_for(int length)
    {
        var pool = new BufferPool();
        var buffer = pool.Rent(length);
        Assert.True(buffer.Length >= length);
        Assert.Equal(1, pool.Outstanding);
        pool.Return(buffer);
        Assert.Equal(0, pool.Outstanding);
    }

    [Fact]
    public void As_many_buffers_as_were_out_at_once_are_used_again()
    {
        const int Count = 1000;
        var pool = new BufferPool();
        var first = Enumerable.Range(0, Count).Select(_ => pool.Rent(16 * 1024)).ToHashSet();
        Assert.Equal(Count, first.Count);
        foreach (var buffer in first)
        {
            pool.Return(buffer);
        }

        Assert.All(Enumerable.Range(0, Count).Select(_ => pool.Rent(16 * 1024)).ToArray(), buffer => Assert.Contains(buffer, first));
        Assert.DoesNotContain(pool.Rent(16 * 1024), first);
    }
}
