using Tunnel2.Http1;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// A connection to the backend and what its next exchange needs. Used by one exchange at a time; it holds a buffer only while it is.
/// </summary>
internal sealed class BackendConnection : IDisposable
{
    private readonly BufferPool _buffers;

    public BackendConnection(BackendTransport transport, BufferPool buffers)
    {
        Transport = transport;
        _buffers = buffers;
    }

    public BackendTransport Transport { get; }

    /// <summary>Reads response heads; reused.</summary>
    public ResponseHeadParser Parser { get; } = new();

    /// <summary>Whether an earlier exchange has used it: then the backend may have closed it meanwhile.</summary>
    public bool IsReused { get; set; }

    /// <summary>When it became idle, a timestamp of the pool's time provider.</summary>
    public long IdleSince { get; set; }

    /// <summary>The buffer of the running exchange; null between exchanges.</summary>
    public byte[]? Buffer { get; private set; }

    public byte[] RentBuffer(int minimumLength)
    {
        if (Buffer is null || Buffer.Length < minimumLength)
        {
            ReturnBuffer();
            Buffer = _buffers.Rent(minimumLength);
        }

        return Buffer;
    }

    /// <summary>Goes on with a larger buffer.</summary>
    public byte[] GrowBuffer(int filled, int minimumLength)
    {
        var larger = _buffers.Rent(minimumLength);
        Buffer.AsSpan(0, filled).CopyTo(larger);
        ReturnBuffer();
        Buffer = larger;
        return larger;
    }

    public void ReturnBuffer()
    {
        if (Buffer is not null)
        {
            _buffers.Return(Buffer);
            Buffer = null;
        }
    }

    public void Dispose()
    {
        ReturnBuffer();
        Transport.Dispose();
    }
}
