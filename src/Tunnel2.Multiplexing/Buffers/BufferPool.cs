using System.Buffers;

namespace Tunnel2.Multiplexing.Buffers;

/// <summary>
/// Where every buffer of the data plane comes from: <see cref="ArrayPool{T}"/>, plus a count of what is out, so that a test (and a metric)
/// can show that whatever ends a session, every buffer came back. Thread-safe.
/// </summary>
internal sealed class BufferPool
{
    private long _outstanding;

    /// <summary>The pool that a process shares unless a test brings its own.</summary>
    public static BufferPool Shared { get; } = new();

    /// <summary>Buffers rented and not returned.</summary>
    public long Outstanding => Volatile.Read(ref _outstanding);

    public byte[] Rent(int minimumLength)
    {
        Interlocked.Increment(ref _outstanding);
        return ArrayPool<byte>.Shared.Rent(minimumLength);
    }

    public void Return(byte[] buffer)
    {
        Interlocked.Decrement(ref _outstanding);
        ArrayPool<byte>.Shared.Return(buffer);
    }
}
