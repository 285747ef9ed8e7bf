using System.Buffers;
using System.Threading.Channels;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>V0: a bounded channel of pooled frames, and one loop that copies what is there into a batch.</summary>
internal sealed class FrameChannelWriter : IFrameWriter
{
    private const int Capacity = 256;
    private const int BatchSize = 256 * 1024;

    private readonly Channel<(byte[] Frame, int Length)> _frames =
        Channel.CreateBounded<(byte[] Frame, int Length)>(new BoundedChannelOptions(Capacity) { SingleReader = true });

    private readonly IFrameSink _sink;
    private readonly Task _loop;

    public FrameChannelWriter(IFrameSink sink)
    {
        _sink = sink;
        _loop = Task.Run(RunAsync);
    }

    public ValueTask WriteAsync(WriterStream stream, ReadOnlyMemory<byte> payload)
    {
        var frame = ArrayPool<byte>.Shared.Rent(FrameHeader.Size + payload.Length);
        var length = WriterStream.WriteFrame(frame, stream.Id, payload.Span);
        return _frames.Writer.TryWrite((frame, length)) ? default : WriteSlowAsync(frame, length);
    }

    public async ValueTask DisposeAsync()
    {
        _frames.Writer.TryComplete();
        await _loop.ConfigureAwait(false);
    }

    private async ValueTask WriteSlowAsync(byte[] frame, int length)
    {
        try
        {
            await _frames.Writer.WriteAsync((frame, length)).ConfigureAwait(false);
        }
        catch (ChannelClosedException exception)
        {
            throw new IOException("The connection has failed.", exception);
        }
    }

    private async Task RunAsync()
    {
        var batch = new byte[BatchSize];
        var reader = _frames.Reader;
        try
        {
            while (await reader.WaitToReadAsync().ConfigureAwait(false))
            {
                var length = 0;
                while (reader.TryPeek(out var next) && BatchSize - length >= next.Length && reader.TryRead(out next))
                {
                    next.Frame.AsSpan(0, next.Length).CopyTo(batch.AsSpan(length));
                    length += next.Length;
                    ArrayPool<byte>.Shared.Return(next.Frame);
                }

                await _sink.SendAsync(batch.AsMemory(0, length)).ConfigureAwait(false);
            }
        }
        catch (IOException exception)
        {
            _frames.Writer.TryComplete(exception);
            while (reader.TryRead(out var rest))
            {
                ArrayPool<byte>.Shared.Return(rest.Frame);
            }
        }
    }
}
