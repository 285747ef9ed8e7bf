namespace Tunnel2.Benchmarks.Writers;

/// <summary>
/// V3: below a high-water mark a producer copies its frame into the next batch itself, under a short lock, and waits for nothing; above
/// it its stream queues, and the loop lets one frame of each in per batch in turn. The loop swaps two buffers and is woken only when it
/// sleeps.
/// </summary>
internal sealed class HybridWriter : IFrameWriter
{
    private const int BatchSize = 256 * 1024;
    private const int HighWater = 128 * 1024;

    private readonly Lock _gate = new();
    private readonly Queue<WriterStream> _waiting = new();
    private readonly List<WriterStream> _admitted = [];
    private readonly LoopSignal _signal = new();
    private readonly IFrameSink _sink;
    private readonly Task _loop;
    private byte[] _filling = new byte[BatchSize];
    private byte[] _sending = new byte[BatchSize];
    private int _filled;
    private IOException? _failure;
    private bool _closed;

    public HybridWriter(IFrameSink sink)
    {
        _sink = sink;
        _loop = Task.Run(RunAsync);
    }

    public ValueTask WriteAsync(WriterStream stream, ReadOnlyMemory<byte> payload)
    {
        bool wake;
        ValueTask written = default;
        lock (_gate)
        {
            if (_failure is not null)
            {
                return ValueTask.FromException(new IOException("The connection has failed.", _failure));
            }

            if (_filled < HighWater && _waiting.Count == 0)
            {
                _filled += WriterStream.WriteFrame(_filling.AsSpan(_filled), stream.Id, payload.Span);
            }
            else
            {
                written = stream.Begin(payload);
                _waiting.Enqueue(stream);
            }

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
        try
        {
            while (true)
            {
                int length;
                ValueTask sleep = default;
                lock (_gate)
                {
                    AdmitUnsynchronized();
                    length = _filled;
                    if (length > 0)
                    {
                        (_filling, _sending) = (_sending, _filling);
                        _filled = 0;
                    }
                    else if (_closed)
                    {
                        return;
                    }
                    else
                    {
                        sleep = _signal.Arm();
                    }
                }

                foreach (var stream in _admitted)
                {
                    stream.Complete();
                }

                _admitted.Clear();
                if (length > 0)
                {
                    await _sink.SendAsync(_sending.AsMemory(0, length)).ConfigureAwait(false);
                }
                else
                {
                    await sleep.ConfigureAwait(false);
                }
            }
        }
        catch (IOException exception)
        {
            Poison(exception);
        }
    }

    private void AdmitUnsynchronized()
    {
        while (_waiting.TryPeek(out var stream) && stream.FrameLength <= BatchSize - _filled)
        {
            _waiting.Dequeue();
            _filled += stream.CopyTo(_filling.AsSpan(_filled));
            _admitted.Add(stream);
        }
    }

    private void Poison(IOException exception)
    {
        WriterStream[] waiting;
        lock (_gate)
        {
            _failure = exception;
            waiting = [.. _waiting];
            _waiting.Clear();
        }

        foreach (var stream in waiting)
        {
            stream.Fail(new IOException("The connection has failed.", exception));
        }
    }
}
