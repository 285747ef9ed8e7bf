using Tunnel2.Benchmarks.Writers;

namespace Tunnel2.Benchmarks.Tests.Writers;

/// <summary>Keeps every byte; now and then it is slow, and it can be made to fail.</summary>
internal sealed class CollectingSink(int seed, long failAfter = long.MaxValue) : IFrameSink
{
    private readonly MemoryStream _bytes = new();
    private readonly Random _random = new(seed);
    private int _sending;

    public ReadOnlySpan<byte> Bytes => _bytes.GetBuffer().AsSpan(0, (int)_bytes.Length);

    public async ValueTask SendAsync(ReadOnlyMemory<byte> bytes)
    {
        Assert.Equal(1, Interlocked.Increment(ref _sending));
        for (var yields = _random.Next(-2, 5); yields > 0; yields--)
        {
            await Task.Yield();
        }

        if (_bytes.Length + bytes.Length > failAfter)
        {
            Interlocked.Decrement(ref _sending);
            throw new IOException("The sink was made to fail.");
        }

        _bytes.Write(bytes.Span);
        Interlocked.Decrement(ref _sending);
    }

    public ValueTask DisposeAsync() => default;
}
