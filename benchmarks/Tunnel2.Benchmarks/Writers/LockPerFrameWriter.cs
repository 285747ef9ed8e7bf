using System.Buffers;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>The baseline: a producer of a frame waits for the connection's lock and sends it.</summary>
internal sealed class LockPerFrameWriter(IFrameSink sink) : IFrameWriter
{
    private readonly SemaphoreSlim _lock = new(1);
    private IOException? _failure;

    public async ValueTask WriteAsync(WriterStream stream, ReadOnlyMemory<byte> payload)
    {
        var frame = ArrayPool<byte>.Shared.Rent(FrameHeader.Size + payload.Length);
        var length = WriterStream.WriteFrame(frame, stream.Id, payload.Span);
        await _lock.WaitAsync().ConfigureAwait(false);
        try
        {
            if (_failure is not null)
            {
                throw new IOException("The connection has failed.", _failure);
            }

            await sink.SendAsync(frame.AsMemory(0, length)).ConfigureAwait(false);
        }
        catch (IOException exception)
        {
            _failure ??= exception;
            throw;
        }
        finally
        {
            _lock.Release();
            ArrayPool<byte>.Shared.Return(frame);
        }
    }

    public ValueTask DisposeAsync()
    {
        _lock.Dispose();
        return default;
    }
}
