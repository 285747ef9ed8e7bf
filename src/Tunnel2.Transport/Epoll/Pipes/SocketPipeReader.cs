using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll.Pipes;

/// <summary>
/// The receiving side of a connection as a <see cref="PipeReader"/>, without a pipe: a read takes the available bytes from the socket, and
/// a wait for more holds no buffer. For its consumer it behaves like the reader of a <see cref="Pipe"/>, with two exceptions. Bytes are
/// received when they are read, so only the kernel's buffer fills while no code reads. And a consumer that has had its share of the loop's
/// round waits for its next turn, although there is more to read. So a peer that sends without an end does not hold the loop.
/// </summary>
internal sealed class SocketPipeReader : PipeReader, IValueTaskSource<ReadResult>
{
    private readonly SocketDuplexPipe _pipe;
    private readonly EpollSocket _socket;
    private readonly ReceivedBytes _received;
    private PipeWait<ReadResult> _wait;
    private Exception? _failure;
    private int _atLeast;
    private WorkTurn _turn;
    private bool _awaitsTurn;
    private bool _reading;
    private bool _mayAdvance;
    private bool _cancelRequested;
    private bool _ended;
    private bool _completed;

    public SocketPipeReader(SocketDuplexPipe pipe, EpollSocket socket, BufferPool buffers)
    {
        _pipe = pipe;
        _socket = socket;
        _received = new ReceivedBytes(buffers);
    }

    /// <summary>Whether a read waits for bytes, or for a turn.</summary>
    public bool IsWaitingUnsynchronized => _wait.IsOn || _awaitsTurn;

    /// <summary>Whether the consumer has completed it.</summary>
    public bool IsCompleted => _completed;

    /// <summary>Whether the peer's orderly end was received.</summary>
    public bool HasEnded => _ended;

    /// <summary>Whether a receive failed, or this side closed the connection before its end.</summary>
    public bool HasFailed => Volatile.Read(ref _failure) is not null;

    /// <inheritdoc/>
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) => ReadCoreAsync(0, cancellationToken);

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        lock (_socket.Gate)
        {
            ThrowIfUnreadableUnsynchronized();
            if (!TryGetResultUnsynchronized(0, receive: true, out result, out var error))
            {
                return false;
            }

            return error is null ? true : throw error;
        }
    }

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        ThrowIfCompleted();
        if (!_mayAdvance)
        {
            throw new InvalidOperationException("No read operation to complete.");
        }

        var loop = _pipe.Loop;
        var bytes = _received.AdvanceTo(consumed, examined);
        _turn.AddIn(loop.Round, bytes, WorkTurn.UploadBytesPerStep(loop.BytesPerStep));
        _turn.EndIfLong(bytes, loop.RoundBegan);
        _reading = _mayAdvance = false;
    }

    /// <inheritdoc/>
    public override void CancelPendingRead()
    {
        lock (_socket.Gate)
        {
            if (!_wait.IsOn)
            {
                _cancelRequested = true;
                return;
            }

            // Bytes that arrived without an event yet are received too: a caller that cancels to end an idle connection must not miss a
            // request.
            _socket.AskAgainUnsynchronized();
            ReceiveUnsynchronized();
            FinishLaterUnsynchronized(CreateResultUnsynchronized(isCanceled: true), null);
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
            _reading = _mayAdvance = false;
            if (!_wait.IsOn)
            {
                _received.Release();
            }
        }
    }

    /// <summary>There may be bytes to receive. On the loop's thread.</summary>
    public void OnReadable()
    {
        ReadResult result;
        Exception? error;
        CancellationTokenRegistration registration;
        lock (_socket.Gate)
        {
            // An event during the wait for a turn has updated the socket, but the read still waits for its turn.
            if (!_wait.IsOn || _awaitsTurn)
            {
                return;
            }

            if (!TryGetResultUnsynchronized(_atLeast, receive: true, out result, out error))
            {
                return;
            }

            if (!_pipe.RunsOnLoop)
            {
                FinishLaterUnsynchronized(result, error);
                return;
            }

            registration = _wait.EndUnsynchronized();
        }

        registration.Dispose();
        _wait.Finish(result, error);
    }

    /// <summary>This side closed the connection: a waiting read fails.</summary>
    public void OnClosedUnsynchronized()
    {
        _failure ??= _ended ? null : _pipe.CreateFailure(Errno.Canceled);
        if (_wait.IsOn)
        {
            FinishLaterUnsynchronized(_failure is null ? CreateResultUnsynchronized(isCanceled: false) : default, _failure);
        }
    }

    /// <inheritdoc/>
    protected override ValueTask<ReadResult> ReadAtLeastAsyncCore(int minimumSize, CancellationToken cancellationToken) =>
        ReadCoreAsync(minimumSize, cancellationToken);

    ReadResult IValueTaskSource<ReadResult>.GetResult(short token) => _wait.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<ReadResult>.GetStatus(short token) => _wait.GetStatus(token);

    void IValueTaskSource<ReadResult>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _wait.OnCompleted(continuation, state, token, flags);

    private ValueTask<ReadResult> ReadCoreAsync(int atLeast, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<ReadResult>(cancellationToken);
        }

        lock (_socket.Gate)
        {
            ThrowIfUnreadableUnsynchronized();

            // A reader that is away from its loop returns to it, because its work with the bytes belongs there.
            var hop = _pipe.RunsOnLoop && !_pipe.Loop.IsCurrent;
            var isOver = _turn.IsOverIn(_pipe.Loop.Round);
            if (!isOver && TryGetResultUnsynchronized(atLeast, receive: !hop, out var result, out var error))
            {
                return error is null ? new ValueTask<ReadResult>(result) : ValueTask.FromException<ReadResult>(error);
            }

            _atLeast = atLeast;
            if (isOver)
            {
                if (!_awaitsTurn)
                {
                    _awaitsTurn = true;
                    _pipe.Loop.Turns.Schedule(static self => ((SocketPipeReader)self!).OnTurn(), this);
                }
            }
            else if (hop && (_socket.IsReadable || _socket.IsClosed))
            {
                _pipe.Loop.Schedule(static self => ((SocketPipeReader)self!).OnReadable(), this);
            }

            return _wait.BeginUnsynchronized(
                this, static (self, token) => ((SocketPipeReader)self!).OnTokenCanceled(token), cancellationToken);
        }
    }

    private void OnTurn()
    {
        lock (_socket.Gate)
        {
            _awaitsTurn = false;
        }

        OnReadable();
    }

    /// <summary>Gets the result, bytes or the failure. Receives first if no bytes were left.</summary>
    private bool TryGetResultUnsynchronized(int atLeast, bool receive, out ReadResult result, out Exception? error)
    {
        error = null;
        if (_cancelRequested)
        {
            _cancelRequested = false;
            result = CreateResultUnsynchronized(isCanceled: true);
            return true;
        }

        while (true)
        {
            if (_ended || (_received.HasUnexamined && _received.Length >= atLeast))
            {
                result = CreateResultUnsynchronized(isCanceled: false);
                return true;
            }

            if (_failure is not null)
            {
                error = _failure;
                result = default;
                return true;
            }

            if (!receive || !ReceiveUnsynchronized())
            {
                result = default;
                return false;
            }
        }
    }

    /// <summary>Receives once.</summary>
    /// <returns>Whether something changed.</returns>
    private bool ReceiveUnsynchronized()
    {
        if (!_socket.IsReadable && !_socket.IsClosed)
        {
            return false;
        }

        var count = _socket.ReceiveUnsynchronized(_received.GetRoom());
        if (count > 0)
        {
            _received.Add(count);
            return true;
        }

        _received.ReleaseIfEmpty();
        if (count == -Errno.Again)
        {
            return false;
        }

        if (count == 0)
        {
            _ended = true;
        }
        else
        {
            _failure = _pipe.CreateFailure(-count);
        }

        return true;
    }

    private ReadResult CreateResultUnsynchronized(bool isCanceled)
    {
        // After a cancelled read the next one may follow without an advance.
        _reading = !isCanceled;
        _mayAdvance = true;
        return new ReadResult(_received.Sequence, isCanceled, _ended);
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

    /// <summary>Ends the wait now and lets the consumer continue later, on its thread: never inside the call that ended the wait.</summary>
    private void FinishLaterUnsynchronized(ReadResult result, Exception? error)
    {
        _wait.EndForLaterUnsynchronized(result, error);
        _pipe.Schedule(static self => ((SocketPipeReader)self!)._wait.FinishPending(), this);
    }

    private void ThrowIfUnreadableUnsynchronized()
    {
        ThrowIfCompleted();
        if (_reading || _wait.IsOn)
        {
            throw new InvalidOperationException(_wait.IsOn ? "Concurrent reads are not supported." : "Reading is already in progress.");
        }
    }

    private void ThrowIfCompleted()
    {
        if (_completed)
        {
            throw new InvalidOperationException("Reading is not allowed after the reader was completed.");
        }
    }
}
