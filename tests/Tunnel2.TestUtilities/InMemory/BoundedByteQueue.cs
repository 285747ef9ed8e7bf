namespace Tunnel2.TestUtilities;

/// <summary>
/// One direction of a <see cref="DuplexStreamPair"/>: a ring of bytes with one writer and one reader that wait for each other.
/// Thread-safe; waiters continue on the thread pool.
/// </summary>
internal sealed class BoundedByteQueue
{
    private readonly Lock _lock = new();
    private readonly byte[] _ring;
    private TaskCompletionSource? _changed;
    private int _start;
    private int _count;
    private bool _isCompleted;
    private bool _isReaderGone;
    private Exception? _failure;

    public BoundedByteQueue(int capacity)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(capacity, 1);
        _ring = new byte[capacity];
    }

    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _count;
            }
        }
    }

    public async ValueTask WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken)
    {
        do
        {
            Task wait;
            lock (_lock)
            {
                ThrowIfUnwritableUnsynchronized();
                source = source[PutUnsynchronized(source.Span)..];
                if (source.IsEmpty)
                {
                    return;
                }

                wait = NextChangeUnsynchronized();
            }

            await wait.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        while (true);
    }

    /// <summary>
    /// Reads what is there, at least one byte; 0 at the end. An empty destination waits for data or the end and takes nothing.
    /// </summary>
    public async ValueTask<int> ReadAsync(Memory<byte> destination, CancellationToken cancellationToken)
    {
        while (true)
        {
            Task wait;
            lock (_lock)
            {
                if (_failure is { } failure)
                {
                    throw new IOException(failure.Message, failure);
                }

                ObjectDisposedException.ThrowIf(_isReaderGone, typeof(DuplexStream));
                if (_count > 0 || _isCompleted)
                {
                    return TakeUnsynchronized(destination.Span);
                }

                wait = NextChangeUnsynchronized();
            }

            await wait.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>The writer is done; what is still in the ring can be read, then comes the end.</summary>
    public void CompleteWriting()
    {
        lock (_lock)
        {
            _isCompleted = true;
            SignalUnsynchronized();
        }
    }

    /// <summary>No reader is left: writes fail.</summary>
    public void CompleteReading()
    {
        lock (_lock)
        {
            _isReaderGone = true;
            SignalUnsynchronized();
        }
    }

    /// <summary>Fails both sides at once; what is in the ring is lost. The first failure stays.</summary>
    public void Fail(Exception exception)
    {
        lock (_lock)
        {
            _failure ??= exception;
            SignalUnsynchronized();
        }
    }

    private void ThrowIfUnwritableUnsynchronized()
    {
        if (_failure is { } failure)
        {
            throw new IOException(failure.Message, failure);
        }

        if (_isCompleted)
        {
            throw new InvalidOperationException("The direction was ended; nothing can be written to it.");
        }

        if (_isReaderGone)
        {
            throw new IOException("The other end is closed.");
        }
    }

    private int PutUnsynchronized(ReadOnlySpan<byte> source)
    {
        var length = Math.Min(source.Length, _ring.Length - _count);
        var position = (_start + _count) % _ring.Length;
        var untilWrap = Math.Min(length, _ring.Length - position);
        source[..untilWrap].CopyTo(_ring.AsSpan(position));
        source[untilWrap..length].CopyTo(_ring);
        _count += length;
        if (length > 0)
        {
            SignalUnsynchronized();
        }

        return length;
    }

    private int TakeUnsynchronized(Span<byte> destination)
    {
        var length = Math.Min(destination.Length, _count);
        var untilWrap = Math.Min(length, _ring.Length - _start);
        _ring.AsSpan(_start, untilWrap).CopyTo(destination);
        _ring.AsSpan(0, length - untilWrap).CopyTo(destination[untilWrap..]);
        _start = (_start + length) % _ring.Length;
        _count -= length;
        if (length > 0)
        {
            SignalUnsynchronized();
        }

        return length;
    }

    private Task NextChangeUnsynchronized() =>
        (_changed ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;

    private void SignalUnsynchronized()
    {
        _changed?.SetResult();
        _changed = null;
    }
}
