namespace Tunnel2.Benchmarks.Writers;

/// <summary>
/// V2: a queue whose item is the stream that has something to send; the loop copies one frame of each in turn. The product's writer is
/// this one (<c>UplinkWriter</c>, <c>ReadyStreamChannel</c>) with credit, control frames and two queues by age.
/// </summary>
internal sealed class ReadyStreamWriter : IFrameWriter
{
    private const int BatchSize = 256 * 1024;

    private readonly Lock _gate = new();
    private readonly Queue<WriterStream> _ready = new();
    private readonly LoopSignal _signal = new();
    private readonly IFrameSink _sink;
    private readonly Task _loop;
    private IOException? _failure;
    private bool _closed;

    public ReadyStreamWriter(IFrameSink sink)
    {
        _sink = sink;
        _loop = Task.Run(RunAsync);
    }

    public ValueTask WriteAsync(WriterStream stream, ReadOnlyMemory<byte> payload)
    {
        bool wake;
        ValueTask written;
        lock (_gate)
        {
            if (_failure is not null)
            {
                return ValueTask.FromException(new IOException("The connection has failed.", _failure));
            }

            written = stream.Begin(payload);
            _ready.Enqueue(stream);
            wake = _signal.TryTakeWake();
        }

        if (wake)
        {
            _signal.Wake();
        }

        return written;
    }

    public async ValueTask DisposeAsync()
    {
        bool wake;
        lock (_gate)
        {
            _closed = true;
            wake = _signal.TryTakeWake();
        }

        if (wake)
        {
            _signal.Wake();
        }

        await _loop.ConfigureAwait(false);
    }

    private async Task RunAsync()
    {
        var batch = new byte[BatchSize];
        try
        {
            while (true)
            {
                var length = FillBatch(batch);
                if (length > 0)
                {
                    await _sink.SendAsync(batch.AsMemory(0, length)).ConfigureAwait(false);
                    continue;
                }

                ValueTask sleep;
                lock (_gate)
                {
                    if (_ready.Count > 0)
                    {
                        continue;
                    }

                    if (_closed)
                    {
                        return;
                    }

                    sleep = _signal.Arm();
                }

                await sleep.ConfigureAwait(false);
            }
        }
        catch (IOException exception)
        {
            Poison(exception);
        }
    }

    private int FillBatch(Span<byte> batch)
    {
        var length = 0;
        while (true)
        {
            WriterStream? stream;
            lock (_gate)
            {
                if (!_ready.TryPeek(out stream) || stream.FrameLength > batch.Length - length)
                {
                    return length;
                }

                _ready.Dequeue();
            }

            length += stream.CopyTo(batch[length..]);
            stream.Complete();
        }
    }

    private void Poison(IOException exception)
    {
        WriterStream[] waiting;
        lock (_gate)
        {
            _failure = exception;
            waiting = [.. _ready];
            _ready.Clear();
        }

        foreach (var stream in waiting)
        {
            stream.Fail(new IOException("The connection has failed.", exception));
        }
    }
}
