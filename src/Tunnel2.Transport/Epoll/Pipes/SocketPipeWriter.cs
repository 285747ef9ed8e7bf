using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll.Pipes;

/// <summary>
/// The sending side of a connection as a <see cref="PipeWriter"/>, without a pipe: written bytes gather in one buffer, and a flush sends
/// them at once. A flush ends when the kernel has taken all bytes, so a slow reader holds up its own producer, and a connection never holds
/// more than one flush.
/// </summary>
internal sealed class SocketPipeWriter : PipeWriter, IValueTaskSource<FlushResult>
{
    private const int SmallBuffer = 4 * 1024;

    /// <summary>From this size on, bytes are sent without a copy, if none wait before them.</summary>
    private const int WorthSendingDirectly = 8 * 1024;

    private readonly SocketDuplexPipe _pipe;
    private readonly EpollSocket _socket;
    private readonly BufferPool _buffers;
    private PipeWait<FlushResult> _wait;
    private TaskCompletionSource? _drained;

    // The bytes being written; they belong to the producer.
    private byte[]? _buffer;
    private int _length;

    // The bytes being sent; the socket's gate guards them.
    private byte[]? _sending;
    private int _sendStart;
    private int _sendEnd;
    private bool _cancelRequested;
    private bool _completed;
    private bool _broken;

    public SocketPipeWriter(SocketDuplexPipe pipe, EpollSocket socket, BufferPool buffers)
    {
        _pipe = pipe;
        _socket = socket;
        _buffers = buffers;
    }

    /// <inheritdoc/>
    public override bool CanGetUnflushedBytes => true;

    /// <inheritdoc/>
    public override long UnflushedBytes => _length;

    /// <summary>Whether flushed bytes wait for room.</summary>
    public bool IsWaitingUnsynchronized => _wait.IsOn || _sending is not null;

    /// <summary>Whether the producer has completed it.</summary>
    public bool IsCompleted => _completed;

    /// <summary>Whether a send failed or this side closed the connection.</summary>
    public bool IsBroken => Volatile.Read(ref _broken);

    /// <summary>Whether the kernel has taken all flushed bytes.</summary>
    public bool IsDrained => _sending is null;

    /// <summary>Number of flushed bytes that the kernel has not taken yet.</summary>
    public int UnsentBytes
    {
        get
        {
            lock (_socket.Gate)
            {
                return _sending is null ? 0 : _sendEnd - _sendStart;
            }
        }
    }

    /// <inheritdoc/>
    public override Memory<byte> GetMemory(int sizeHint = 0)
    {
        EnsureRoom(sizeHint);
        return _buffer.AsMemory(_length);
    }

    /// <inheritdoc/>
    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        EnsureRoom(sizeHint);
        return _buffer.AsSpan(_length);
    }

    /// <inheritdoc/>
    public override void Advance(int bytes)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes, (_buffer?.Length ?? 0) - _length);
        _length += bytes;
    }

    /// <inheritdoc/>
    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<FlushResult>(cancellationToken);
        }

        lock (_socket.Gate)
        {
            return FlushUnsynchronized(cancellationToken);
        }
    }

    /// <inheritdoc/>
    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
    {
        ThrowIfCompleted();
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<FlushResult>(cancellationToken);
        }

        var rest = source.Span;
        lock (_socket.Gate)
        {
            if (_length == 0 && _sending is null && !_broken && rest.Length >= WorthSendingDirectly)
            {
                var sent = _socket.SendUnsynchronized(rest);
                rest = rest[Math.Max(0, sent)..];
                if (sent < 0 && sent != -Errno.Again)
                {
                    BreakUnsynchronized();
                }
            }
        }

        if (!rest.IsEmpty && !_broken)
        {
            rest.CopyTo(GetSpan(rest.Length));
            _length += rest.Length;
        }

        return FlushAsync(cancellationToken);
    }

    /// <inheritdoc/>
    public override void CancelPendingFlush()
    {
        lock (_socket.Gate)
        {
            if (_wait.IsOn)
            {
                // The bytes being sent are still sent; the next flush waits for them.
                FinishLaterUnsynchronized(new FlushResult(isCanceled: true, isCompleted: _broken), null);
            }
            else
            {
                _cancelRequested = true;
            }
        }
    }

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null)
    {
        lock (_socket.Gate)
        {
            if (_completed)
            {
                return;
            }

            _completed = true;
            if (exception is not null)
            {
                // Unflushed bytes must not arrive, and neither must an orderly end.
                DropUnflushed();
            }

            SendUnsynchronized();
        }

        _pipe.OnWriterCompleted(exception);
    }

    /// <summary>Waits until the kernel has taken all flushed and completed bytes, or never will.</summary>
    public Task DrainedAsync()
    {
        lock (_socket.Gate)
        {
            if (_sending is null || _broken)
            {
                return Task.CompletedTask;
            }

            return (_drained ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
        }
    }

    /// <summary>There is room to send again. On the loop's thread.</summary>
    public void OnWritable()
    {
        FlushResult result;
        CancellationTokenRegistration registration;
        lock (_socket.Gate)
        {
            if (!SendUnsynchronized() || !_wait.IsOn)
            {
                return;
            }

            result = new FlushResult(isCanceled: false, isCompleted: _broken);
            if (!_pipe.RunsOnLoop)
            {
                FinishLaterUnsynchronized(result, null);
                return;
            }

            registration = _wait.EndUnsynchronized();
        }

        registration.Dispose();
        _wait.Finish(result, null);
    }

    /// <summary>This side closed the connection: nothing can be sent.</summary>
    public void OnClosedUnsynchronized()
    {
        BreakUnsynchronized();
        if (_wait.IsOn)
        {
            FinishLaterUnsynchronized(new FlushResult(isCanceled: false, isCompleted: true), null);
        }
    }

    FlushResult IValueTaskSource<FlushResult>.GetResult(short token) => _wait.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<FlushResult>.GetStatus(short token) => _wait.GetStatus(token);

    void IValueTaskSource<FlushResult>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _wait.OnCompleted(continuation, state, token, flags);

    private ValueTask<FlushResult> FlushUnsynchronized(CancellationToken cancellationToken)
    {
        if (_wait.IsOn)
        {
            throw new InvalidOperationException("Concurrent flushes are not supported.");
        }

        // From here on the producer waits: its bytes may be taken as soon as there is room.
        _wait.AnnounceUnsynchronized();
        var sent = SendUnsynchronized();
        if (sent || _cancelRequested)
        {
            _wait.WithdrawUnsynchronized();
            var result = new FlushResult(_cancelRequested, isCompleted: _broken);
            _cancelRequested = false;
            return new ValueTask<FlushResult>(result);
        }

        return _wait.BeginUnsynchronized(this, static (self, token) => ((SocketPipeWriter)self!).OnTokenCanceled(token), cancellationToken);
    }

    /// <summary>Sends as many bytes as there is room for.</summary>
    /// <returns>Whether all bytes that may be sent were sent.</returns>
    private bool SendUnsynchronized()
    {
        while (true)
        {
            if (_sending is null)
            {
                if (_length == 0 || !(_wait.IsOn || _completed))
                {
                    OnDrainedUnsynchronized();
                    return true;
                }

                (_sending, _sendStart, _sendEnd) = (_buffer, 0, _length);
                (_buffer, _length) = (null, 0);
            }

            var sent = _broken ? -Errno.BrokenPipe : _socket.SendUnsynchronized(_sending.AsSpan(_sendStart, _sendEnd - _sendStart));
            if (sent == -Errno.Again)
            {
                return false;
            }

            if (sent < 0)
            {
                BreakUnsynchronized();
                continue;
            }

            _sendStart += sent;
            if (_sendStart == _sendEnd)
            {
                _buffers.Return(_sending!);
                _sending = null;
            }
        }
    }

    private void BreakUnsynchronized()
    {
        _broken = true;
        if (_sending is not null)
        {
            _buffers.Return(_sending);
            _sending = null;
        }

        if (_wait.IsOn || _completed)
        {
            DropUnflushed();
        }

        OnDrainedUnsynchronized();
    }

    private void DropUnflushed()
    {
        if (_buffer is not null)
        {
            _buffers.Return(_buffer);
            _buffer = null;
            _length = 0;
        }
    }

    private void OnDrainedUnsynchronized()
    {
        if (_completed)
        {
            DropUnflushed();
            _drained?.TrySetResult();
        }
    }

    private void EnsureRoom(int sizeHint)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        ThrowIfCompleted();
        var needed = _length + Math.Max(1, sizeHint);
        if (_buffer is null)
        {
            _buffer = _buffers.Rent(Math.Max(SmallBuffer, needed));
        }
        else if (_buffer.Length < needed)
        {
            var larger = _buffers.Rent(Math.Max(_buffer.Length * 4, needed));
            _buffer.AsSpan(0, _length).CopyTo(larger);
            _buffers.Return(_buffer);
            _buffer = larger;
        }
    }

    private void OnTokenCanceled(CancellationToken token)
    {
        lock (_socket.Gate)
        {
            if (_wait.IsForUnsynchronized(token))
            {
                FinishLaterUnsynchronized(default, new OperationCanceledException(token));
            }
        }
    }

    private void FinishLaterUnsynchronized(FlushResult result, Exception? error)
    {
        _wait.EndForLaterUnsynchronized(result, error);
        _pipe.Schedule(static self => ((SocketPipeWriter)self!)._wait.FinishPending(), this);
    }

    private void ThrowIfCompleted()
    {
        if (_completed)
        {
            throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        }
    }
}
