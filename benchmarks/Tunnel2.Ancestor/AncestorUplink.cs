using System.Buffers;
using System.Buffers.Binary;
using System.Net.Sockets;

namespace Tunnel2.Ancestor;

/// <summary>
/// An uplink as it was: each frame has a length prefix, and each write takes the connection's lock, writes its frame and flushes.
/// </summary>
internal sealed class AncestorUplink(Socket socket) : IDisposable
{
    /// <summary>The bytes before a payload: length, kind, stream.</summary>
    private const int HeaderSize = 9;

    private readonly NetworkStream _stream = new(socket, ownsSocket: true);
    private readonly SemaphoreSlim _writing = new(1);

    /// <summary>Writes a frame.</summary>
    /// <exception cref="IOException">The connection is lost.</exception>
    public async Task WriteAsync(FrameKind kind, int stream, ReadOnlyMemory<byte> payload, CancellationToken cancellationToken)
    {
        var frame = ArrayPool<byte>.Shared.Rent(HeaderSize + payload.Length);
        BinaryPrimitives.WriteInt32BigEndian(frame, payload.Length);
        frame[4] = (byte)kind;
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(5), stream);
        payload.CopyTo(frame.AsMemory(HeaderSize));
        await _writing.WaitAsync(cancellationToken);
        try
        {
            // Without the token: a frame that is cut in the middle would end all other streams.
            await _stream.WriteAsync(frame.AsMemory(0, HeaderSize + payload.Length), CancellationToken.None);
            await _stream.FlushAsync(CancellationToken.None);
        }
        finally
        {
            _writing.Release();
            ArrayPool<byte>.Shared.Return(frame);
        }
    }

    /// <summary>Reads a frame.</summary>
    /// <exception cref="IOException">The connection has ended.</exception>
    public async Task<(FrameKind Kind, int Stream, byte[] Payload)> ReadAsync(CancellationToken cancellationToken)
    {
        var header = new byte[HeaderSize];
        await _stream.ReadExactlyAsync(header, cancellationToken);
        var payload = new byte[BinaryPrimitives.ReadInt32BigEndian(header)];
        await _stream.ReadExactlyAsync(payload, cancellationToken);
        return ((FrameKind)header[4], BinaryPrimitives.ReadInt32BigEndian(header.AsSpan(5)), payload);
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _stream.Dispose();
        _writing.Dispose();
    }
}
