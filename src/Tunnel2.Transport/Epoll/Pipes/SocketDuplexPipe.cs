using System.IO.Pipelines;
using System.Net;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll.Pipes;

/// <summary>
/// A connection on an event loop as a pair of pipe ends. Each direction has one consumer or producer at a time, on any thread. They
/// continue on the loop's thread, or on the pool while <see cref="RunsOnLoop"/> is off.
/// </summary>
internal class SocketDuplexPipe : IDuplexPipe, ISocketEvents
{
    /// <summary>
    /// How many bytes are read and dropped from a peer that continues to send, so that the close does not destroy our last bytes.
    /// </summary>
    private const int MaxLingerBytes = 1024 * 1024;

    private static readonly TimeSpan _lingerLimit = TimeSpan.FromSeconds(2);

    /// <summary>How often the close waits for a peer that reads slowly; the bytes left after that are not sent.</summary>
    private const int MaxDrainWaits = 12;

    private readonly EpollSocket _socket;
    private readonly SocketPipeReader _reader;
    private readonly SocketPipeWriter _writer;
    private TaskCompletionSource? _lingering;
    private int _lingered;
    private int _closed;

    /// <summary>Takes over a connected, non-blocking descriptor; <see cref="Register"/> starts it.</summary>
    public SocketDuplexPipe(EpollLoop loop, int descriptor, BufferPool buffers)
    {
        _socket = new EpollSocket(loop, descriptor, this);
        _reader = new SocketPipeReader(this, _socket, buffers);
        _writer = new SocketPipeWriter(this, _socket, buffers);
    }

    /// <summary>Its current loop.</summary>
    public EpollLoop Loop => _socket.Loop;

    /// <summary>
    /// Whether code that waits for this connection continues on the loop's thread. Turned off for slow work (a TLS handshake), which then
    /// runs on the pool. May change while no wait is running.
    /// </summary>
    public bool RunsOnLoop { get; set; } = true;

    /// <summary>
    /// How long a close waits for a peer that reads none of the flushed bytes before it cuts the connection; twelve times as long for one
    /// that reads something each time.
    /// </summary>
    public TimeSpan DrainLimit { get; init; } = TimeSpan.FromSeconds(10);

    /// <inheritdoc/>
    public PipeReader Input => _reader;

    /// <inheritdoc/>
    public PipeWriter Output => _writer;

    /// <summary>
    /// Whether sending is impossible because the connection failed or was aborted; not after an orderly end of the peer's direction. From
    /// any thread.
    /// </summary>
    public bool IsBroken => _socket.HasFailed || _writer.IsBroken || _reader.HasFailed;

    /// <summary>Number of bytes that the peer's system has not acknowledged; 0 once the connection is closed.</summary>
    public int Undelivered => _socket.GetUndelivered();

    /// <summary>This end's address, or null when the connection is closed.</summary>
    public IPEndPoint? GetLocalEndPoint() => _socket.GetLocalEndPoint();

    /// <inheritdoc cref="EpollSocket.LimitUnreadBytes"/>
    public void LimitUnreadBytes(IPAddress? peer) => _socket.LimitUnreadBytes(peer);

    /// <summary>Starts watching the socket.</summary>
    /// <returns>0, or the error; after an error the descriptor is closed.</returns>
    public int Register() => _socket.Register();

    /// <summary>
    /// Moves to another loop, with received bytes that were not read yet. Only while no wait is running, as between a request's head and
    /// its answer. The caller must continue on the new loop.
    /// </summary>
    /// <returns>False when a wait is running, or when it is closed. Then it stays, and code on another thread can still use it.</returns>
    public bool TryMoveTo(EpollLoop loop)
    {
        int errno;
        lock (_socket.Gate)
        {
            if (!RunsOnLoop
                || _socket.IsClosed
                || _lingering is not null
                || _reader.IsWaitingUnsynchronized
                || _writer.IsWaitingUnsynchronized)
            {
                return false;
            }

            errno = _socket.MoveToUnsynchronized(loop);
        }

        if (errno == 0)
        {
            return true;
        }

        OnClosed();
        return false;
    }

    /// <summary>Ends the connection at once: reads fail, flushes end as completed, and the peer gets a reset.</summary>
    public void Abort() => Close(reset: true);

    /// <summary>
    /// Ends the connection in order: flushed bytes are sent, then both ends are completed and the descriptor is closed. A peer that does
    /// not read them (<see cref="DrainLimit"/>) is cut off.
    /// </summary>
    public async ValueTask CloseAsync()
    {
        _reader.Complete();
        _writer.Complete();
        var drained = _writer.DrainedAsync();
        if (!drained.IsCompleted && !await IsDrainedAsync(drained).ConfigureAwait(false))
        {
            Abort();
            return;
        }

        if (!_reader.HasEnded && HasUnread())
        {
            // A close with unread bytes is a reset, which may overtake our last bytes (RFC 9112 section 9.6).
            await LingerAsync().ConfigureAwait(false);
        }

        Close(reset: false);
    }

    /// <summary>Runs an action where the users of this connection continue.</summary>
    public void Schedule(Action<object?> action, object? state)
    {
        if (RunsOnLoop)
        {
            Loop.Schedule(action, state);
        }
        else
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: false);
        }
    }

    /// <summary>The exception for an error of the socket; <see cref="Errno.Canceled"/> when this side closed it.</summary>
    public virtual Exception CreateFailure(int errno) => Errno.ToException(errno);

    /// <summary>
    /// The producer has completed its end: the peer gets the end after the last byte, unless everything is closed before the round ends.
    /// </summary>
    public void OnWriterCompleted(Exception? exception)
    {
        if (exception is not null)
        {
            Abort();
        }
        else if (!_socket.IsClosed)
        {
            Loop.Schedule(static self => ((SocketDuplexPipe)self!).ShutdownBehindOutput(), this);
        }
    }

    void ISocketEvents.OnReadable()
    {
        if (_lingering is not null)
        {
            ContinueLingering();
        }
        else
        {
            _reader.OnReadable();
        }
    }

    void ISocketEvents.OnWritable()
    {
        _writer.OnWritable();
        if (_writer.IsCompleted)
        {
            ShutdownBehindOutput();
        }
    }

    void ISocketEvents.OnPeerClosed() => OnPeerClosed();

    void ISocketEvents.OnClosedByLoop() => OnClosed();

    /// <summary>The peer has ended its direction or the connection broke. On the loop's thread, once.</summary>
    protected virtual void OnPeerClosed()
    {
    }

    /// <summary>The descriptor is closed. Once, on any thread.</summary>
    protected virtual void OnDescriptorClosed()
    {
    }

    private void Close(bool reset)
    {
        _socket.Close(reset);
        OnClosed();
    }

    private void OnClosed()
    {
        if (Interlocked.Exchange(ref _closed, 1) != 0)
        {
            return;
        }

        lock (_socket.Gate)
        {
            _reader.OnClosedUnsynchronized();
            _writer.OnClosedUnsynchronized();
        }

        _lingering?.TrySetResult();
        OnDescriptorClosed();
    }

    /// <summary>Waits while the peer reads the rest.</summary>
    /// <returns>False when it does not read.</returns>
    private async ValueTask<bool> IsDrainedAsync(Task drained)
    {
        for (var waits = 0; waits < MaxDrainWaits; waits++)
        {
            var unsent = _writer.UnsentBytes;
            if (await Task.WhenAny(drained, Task.Delay(DrainLimit)).ConfigureAwait(false) == drained)
            {
                return true;
            }

            if (_writer.UnsentBytes == unsent)
            {
                break;
            }
        }

        return false;
    }

    private void ShutdownBehindOutput()
    {
        if (!_socket.IsClosed && _writer.IsDrained)
        {
            _socket.ShutdownSend();
        }
    }

    private bool HasUnread()
    {
        if (!_socket.IsReadable)
        {
            return false;
        }

        Span<byte> waste = stackalloc byte[16 * 1024];
        return _socket.Receive(waste) > 0;
    }

    private async Task LingerAsync()
    {
        _socket.ShutdownSend();
        _lingering = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Loop.Schedule(static self => ((SocketDuplexPipe)self!).ContinueLingering(), this);
        await Task.WhenAny(_lingering.Task, Task.Delay(_lingerLimit)).ConfigureAwait(false);
    }

    private void ContinueLingering()
    {
        Span<byte> waste = stackalloc byte[16 * 1024];
        int count;
        while ((count = _socket.Receive(waste)) > 0 && _lingered < MaxLingerBytes)
        {
            _lingered += count;
        }

        if (count != -Errno.Again)
        {
            _lingering!.TrySetResult();
        }
    }
}
