using System.Buffers;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// Where datagrams wait until the agent takes them: for a port, and in another one for all ports together. Those of associations whose
/// agent takes nothing would otherwise be 256 KiB for each of thousands. Thread-safe.
/// </summary>
/// <param name="most">How many bytes are held before datagrams are dropped.</param>
/// <param name="all">That of all ports; null: this is it.</param>
internal sealed class DatagramMemory(long most, DatagramMemory? all = null) : MemoryPool<byte>
{
    private const int Smallest = 4096;

    private long _held;

    /// <summary>Bytes of all buffers that are in use.</summary>
    public long Held => Volatile.Read(ref _held);

    /// <summary>Whether another datagram may wait.</summary>
    public bool HasRoom => Held < most && all?.HasRoom != false;

    /// <inheritdoc/>
    public override int MaxBufferSize => Array.MaxLength;

    /// <inheritdoc/>
    public override IMemoryOwner<byte> Rent(int minBufferSize = -1)
    {
        var buffer = BufferPool.Shared.Rent(Math.Max(minBufferSize, Smallest));
        Add(buffer.Length);
        return new Owner(this, buffer);
    }

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        // Buffers are given back one by one.
    }

    private void Add(long bytes)
    {
        Interlocked.Add(ref _held, bytes);
        all?.Add(bytes);
    }

    private void Return(byte[] buffer)
    {
        Add(-buffer.Length);
        BufferPool.Shared.Return(buffer);
    }

    private sealed class Owner(DatagramMemory memory, byte[] buffer) : IMemoryOwner<byte>
    {
        private byte[]? _buffer = buffer;

        public Memory<byte> Memory => _buffer;

        public void Dispose()
        {
            if (Interlocked.Exchange(ref _buffer, null) is { } returned)
            {
                memory.Return(returned);
            }
        }
    }
}
