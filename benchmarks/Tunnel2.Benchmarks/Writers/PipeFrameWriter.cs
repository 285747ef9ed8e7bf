using System.IO.Pipelines;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>
/// V1: producers write into a pipe under a semaphore, without waiting where it is free and the pipe has room; a loop sends what the pipe
/// holds.
/// </summary>
internal sealed class PipeFrameWriter : IFrameWriter
{
    private const int SegmentSize = 64 * 1024;

    private readonly Pipe _pipe = new(new PipeOptions(
        pauseWriterThreshold: 256 * 1024, resumeWriterThreshold: 128 * 1024, minimumSegmentSize: SegmentSize,
        useSynchronizationContext: false));

    private readonly SemaphoreSlim _lock = new(1);
    private readonly IFrameSink _sink;
    private readonly Task _loop;

    public PipeFrameWriter(IFrameSink sink)
    {
        _sink = sink;
        _loop = Task.Run(RunAsync);
    }

    public ValueTask WriteAsync(WriterStream stream, ReadOnlyMemory<byte> payload)
    {
        if (!_lock.Wait(0))
        {
            return WriteSlowAsync(stream, payload);
        }

        var flush = Write(stream, payload);
        if (!flush.IsCompletedSuccessfully)
        {
            return AwaitFlushAsync(flush);
        }

        _lock.Release();
        return flush.Result.IsCompleted ? ValueTask.FromException(Failed()) : default;
    }

    public async ValueTask DisposeAsync()
    {
        await _pipe.Writer.CompleteAsync().ConfigureAwait(false);
        await _loop.ConfigureAwait(false);
        _lock.Dispose();
    }

    private static IOException Failed() => new("The connection has failed.");

    private ValueTask<FlushResult> Write(WriterStream stream, ReadOnlyMemory<byte> payload)
    {
        var room = _pipe.Writer.GetSpan(FrameHeader.Size + payload.Length);
        _pipe.Writer.Advance(WriterStream.WriteFrame(room, stream.Id, payload.Span));
        return _pipe.Writer.FlushAsync();
    }

    private async ValueTask WriteSlowAsync(WriterStream stream, ReadOnlyMemory<byte> payload)
    {
        await _lock.WaitAsync().ConfigureAwait(false);
        await AwaitFlushAsync(Write(stream, payload)).ConfigureAwait(false);
    }

    private async ValueTask AwaitFlushAsync(ValueTask<FlushResult> flush)
    {
        try
        {
            if ((await flush.ConfigureAwait(false)).IsCompleted)
            {
                throw Failed();
            }
        }
        finally
        {
            _lock.Release();
        }
    }

    private async Task RunAsync()
    {
        try
        {
            while (true)
            {
                var read = await _pipe.Reader.ReadAsync().ConfigureAwait(false);
                foreach (var segment in read.Buffer)
                {
                    await _sink.SendAsync(segment).ConfigureAwait(false);
                }

                _pipe.Reader.AdvanceTo(read.Buffer.End);
                if (read.IsCompleted)
                {
                    break;
                }
            }
        }
        catch (IOException)
        {
            // The writing side learns it from its next flush.
        }

        await _pipe.Reader.CompleteAsync().ConfigureAwait(false);
    }
}
