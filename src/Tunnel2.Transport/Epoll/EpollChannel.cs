using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Epoll.Native;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// Awaitable operations on an <see cref="EpollSocket"/>: one receive and one send at a time, without allocation. An operation that has to wait
/// continues on the loop's thread, also when it is cut short by <see cref="Abort"/>, and never inside the call that cut it.
/// </summary>
internal sealed class EpollChannel : ISocketEvents
{
    private readonly EpollOperation _receive;
    private readonly EpollOperation _send;
    private readonly EpollSocket _socket;
    private Memory<byte> _receiveBuffer;
    private ReadOnlyMemory<byte> _sendBuffer;
    private int _sendTotal;
    private WorkTurn _turn;
    private bool _awaitsTurn;
    private bool _connecting;
    private int _connectResult;

    /// <summary>Takes over a non-blocking descriptor.</summary>
    /// <param name="loop">The loop that watches it.</param>
    /// <param name="descriptor">The descriptor.</param>
    /// <param name="connected">False: a connect is under way, and <see cref="ConnectedAsync"/> tells its end.</param>
    public EpollChannel(EpollLoop loop, int descriptor, bool connected = true)
    {
        _socket = new EpollSocket(loop, descriptor, this, connected);
        _receive = new EpollOperation(loop);
        _send = new EpollOperation(loop);
        _connecting = !connected;
    }

    public EpollSocket Socket => _socket;

    /// <summary>
    /// Whether a receive waits for others once the channel has had its share of a round, though there is something. For a peer that may send
    /// without an end; not for an uplink, which is everybody's.
    /// </summary>
    public bool TakesTurns { get; set; }

    /// <summary>Starts watching. See <see cref="EpollSocket.Register"/>.</summary>
    public int Register() => _socket.Register();

    /// <summary>Waits for the end of the connect.</summary>
    /// <returns>0, or the error.</returns>
    public ValueTask<int> ConnectedAsync()
    {
        lock (_socket.Gate)
        {
            if (_socket.IsClosed)
            {
                return new ValueTask<int>(Errno.Canceled);
            }

            return _connecting ? _send.Begin() : new ValueTask<int>(_connectResult);
        }
    }

    /// <summary>Receives at least one byte; an empty buffer only waits until there is something, and holds nothing meanwhile.</summary>
    /// <returns>Bytes; 0 at the peer's orderly end, and for an empty buffer.</returns>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        int count;
        lock (_socket.Gate)
        {
            _receive.ThrowIfPending();
            if (TakesTurns && !buffer.IsEmpty && _turn.IsOverIn(_socket.Loop.Round))
            {
                _receiveBuffer = buffer;
                _awaitsTurn = true;
                _socket.Loop.Turns.Schedule(static self => ((EpollChannel)self!).OnTurn(), this);
                return _receive.Begin();
            }

            count = TryReceiveUnsynchronized(buffer);
            if (count == -Errno.Again)
            {
                _receiveBuffer = buffer;
                return _receive.Begin();
            }

            _turn.AddIn(_socket.Loop.Round, count);
        }

        return count >= 0 ? new ValueTask<int>(count) : ValueTask.FromException<int>(Errno.ToException(-count));
    }

    /// <summary>Sends everything. The memory is in use until the task has ended.</summary>
    /// <returns>The length.</returns>
    /// <exception cref="IOException">The connection failed or was aborted; some of the bytes may have been sent.</exception>
    public ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes)
    {
        int count;
        lock (_socket.Gate)
        {
            _send.ThrowIfPending();
            count = bytes.IsEmpty ? 0 : _socket.SendUnsynchronized(bytes.Span);
            if (count == -Errno.Again || (count >= 0 && count < bytes.Length))
            {
                _sendTotal = bytes.Length;
                _sendBuffer = bytes[Math.Max(0, count)..];
                return _send.Begin();
            }
        }

        return count >= 0 ? new ValueTask<int>(count) : ValueTask.FromException<int>(Errno.ToException(-count));
    }

    /// <summary>Ends the connection at once, from any thread; what waits fails, a moment later and on the loop's thread.</summary>
    /// <param name="reset">Whether to tell the peer by a reset, which leaves nothing of the connection behind.</param>
    public void Abort(bool reset = false)
    {
        lock (_socket.Gate)
        {
            if (_socket.Close(reset))
            {
                FailPendingUnsynchronized();
            }
        }
    }

    void ISocketEvents.OnReadable() => OnReadable();

    private void OnTurn()
    {
        lock (_socket.Gate)
        {
            _awaitsTurn = false;
        }

        OnReadable();
    }

    private void OnReadable()
    {
        int count;
        lock (_socket.Gate)
        {
            // An event in between has told the socket; it does not bring the turn about.
            if (_awaitsTurn || !_receive.IsPending || (count = TryReceiveUnsynchronized(_receiveBuffer)) == -Errno.Again)
            {
                return;
            }

            _receiveBuffer = default;
            _receive.EndUnsynchronized();
        }

        _receive.Complete(count);
    }

    void ISocketEvents.OnWritable()
    {
        int result;
        lock (_socket.Gate)
        {
            if (_connecting)
            {
                _connecting = false;
                result = _connectResult = _socket.TakeError();
            }
            else
            {
                result = SendRestUnsynchronized();
            }

            if (result == -Errno.Again || !_send.IsPending)
            {
                return;
            }

            _sendBuffer = default;
            _send.EndUnsynchronized();
        }

        _send.Complete(result);
    }

    void ISocketEvents.OnPeerClosed()
    {
    }

    void ISocketEvents.OnClosedByLoop()
    {
        lock (_socket.Gate)
        {
            FailPendingUnsynchronized();
        }
    }

    private int TryReceiveUnsynchronized(Memory<byte> buffer)
    {
        if (!buffer.IsEmpty)
        {
            return _socket.ReceiveUnsynchronized(buffer.Span);
        }

        return _socket.IsClosed ? -Errno.Canceled : _socket.IsReadable ? 0 : -Errno.Again;
    }

    private int SendRestUnsynchronized()
    {
        if (!_send.IsPending)
        {
            return -Errno.Again;
        }

        var count = _socket.SendUnsynchronized(_sendBuffer.Span);
        if (count < 0)
        {
            return count;
        }

        _sendBuffer = _sendBuffer[count..];
        return _sendBuffer.IsEmpty ? _sendTotal : -Errno.Again;
    }

    private void FailPendingUnsynchronized()
    {
        _receiveBuffer = default;
        _sendBuffer = default;
        _receive.CancelUnsynchronized();
        if (_connecting)
        {
            // A connect's outcome is a number, not a failure.
            _connecting = false;
            _send.CancelUnsynchronized(Errno.Canceled);
        }
        else
        {
            _send.CancelUnsynchronized();
        }
    }
}
