using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Native;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// The bytes of an <see cref="EpollSocket"/>, by awaitable operations: one receive and one send at a time, without allocation. An operation
/// that has to wait continues on the loop's thread, also when <see cref="Abort"/> ends it, and never inside the call that ended it.
/// </summary>
internal sealed class EpollChannel : IUplinkTransport, ISocketEvents
{
    private readonly EpollOperation _receive;
    private readonly EpollOperation _send;
    private readonly EpollSocket _socket;
    private IArrivalObserver? _observer;
    private Memory<byte> _receiveBuffer;
    private ReadOnlyMemory<byte> _sendBuffer;
    private WorkTurn _turn;
    private bool _awaitsTurn;
    private bool _connecting;
    private int _connectResult;

    /// <summary>Takes over a non-blocking descriptor.</summary>
    /// <param name="loop">The loop that watches it.</param>
    /// <param name="descriptor">The descriptor.</param>
    /// <param name="connected">False: a connect is running, and <see cref="ConnectedAsync"/> reports its end.</param>
    public EpollChannel(EpollLoop loop, int descriptor, bool connected = true)
    {
        _socket = new EpollSocket(loop, descriptor, this, connected);
        _receive = new EpollOperation(_socket);
        _send = new EpollOperation(_socket);
        _connecting = !connected;
    }

    public EpollSocket Socket => _socket;

    /// <inheritdoc/>
    public string RemoteName { get; private set; } = "";

    /// <inheritdoc/>
    public long RetransmittedSegments =>
        Math.Max(0, _socket.GetOption(Libc.IpProtoTcp, SocketTuning.LinuxTcpInfo, SocketTuning.TotalRetransmitsOffset));

    /// <inheritdoc/>
    public PipeScheduler Home => _socket.Loop;

    /// <inheritdoc/>
    public bool WaitsFreely => true;

    /// <inheritdoc/>
    public bool ReportsArrivals => true;

    /// <summary>
    /// Whether a receive waits for its next turn after the channel has had its share of a round, although bytes are there. For a peer that
    /// may send without an end; not for an uplink, which all its streams share.
    /// </summary>
    public bool TakesTurns { get; set; }

    /// <summary>Takes over a connected socket and sets the options of an uplink.</summary>
    /// <exception cref="SocketException">The system has no descriptor left.</exception>
    /// <exception cref="IOException">The loop cannot watch it.</exception>
    public static EpollChannel AdoptUplink(EpollLoop loop, Socket socket)
    {
        var remoteName = SocketTuning.RemoteNameOf(socket);
        SocketTuning.ApplyToUplink(socket);
        var channel = new EpollChannel(loop, DescriptorOf.Take(socket)) { RemoteName = remoteName };
        var errno = channel.Register();
        return errno == 0 ? channel : throw Errno.ToException(errno);
    }

    /// <summary>Sets the options of an uplink on a connection that was made on this loop.</summary>
    /// <param name="peer">The address of its other end.</param>
    public EpollChannel AsUplink(IPEndPoint peer)
    {
        _socket.SetTcpOption(SocketTuning.LinuxTcpUserTimeout, SocketTuning.UserTimeoutMilliseconds);
        _socket.LimitUnreadBytes(peer.Address);
        RemoteName = peer.ToString();
        return this;
    }

    /// <summary>Disposed of once, with the connection; null: nothing.</summary>
    public IDisposable? Place { get; set; }

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

    /// <inheritdoc/>
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

            _turn.AddIn(_socket.Loop.Round, count, _socket.Loop.BytesPerStep);
        }

        return count >= 0 ? new ValueTask<int>(count) : ValueTask.FromException<int>(Errno.ToException(-count));
    }

    /// <inheritdoc/>
    public bool TryReportArrival(IArrivalObserver observer)
    {
        lock (_socket.Gate)
        {
            _receive.ThrowIfPending();
            if (_socket.IsClosed || _socket.IsReadable)
            {
                return false;
            }

            _observer = observer;
            return true;
        }
    }

    /// <inheritdoc/>
    public ValueTask SendAsync(ReadOnlyMemory<byte> bytes)
    {
        int count;
        lock (_socket.Gate)
        {
            _send.ThrowIfPending();
            count = bytes.IsEmpty ? 0 : _socket.SendUnsynchronized(bytes.Span);
            if (count == -Errno.Again || (count >= 0 && count < bytes.Length))
            {
                _sendBuffer = bytes[Math.Max(0, count)..];
                return _send.BeginWithoutResult();
            }
        }

        return count >= 0 ? default : ValueTask.FromException(Errno.ToException(-count));
    }

    /// <inheritdoc/>
    public bool TryMoveTo(PipeScheduler home)
    {
        lock (_socket.Gate)
        {
            if (home is not EpollLoop loop || _socket.IsClosed || _send.IsPending || !_receiveBuffer.IsEmpty)
            {
                return false;
            }

            if (_socket.MoveToUnsynchronized(loop) == 0)
            {
                return true;
            }

            FailPendingUnsynchronized();
            return false;
        }
    }

    /// <inheritdoc/>
    public void ShutdownSend() => _socket.ShutdownSend();

    /// <inheritdoc/>
    public bool IsIdleAndOpen() => _socket.IsIdleAndOpen();

    /// <inheritdoc/>
    public bool WasIdleAndOpen() => _socket.WasIdleAndOpen();

    /// <inheritdoc/>
    public bool HasBytes() => _socket.HasBytes();

    /// <summary>Ends the connection at once, from any thread. Waiting operations fail a moment later, on the loop's thread.</summary>
    public void Abort() => Close(reset: false);

    /// <inheritdoc/>
    public void Discard() => Close(reset: true);

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        Abort();
        Place?.Dispose();
        return default;
    }

    private void Close(bool reset)
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
        var count = 0;
        IArrivalObserver? observer;
        lock (_socket.Gate)
        {
            observer = _observer;
            if (observer is not null)
            {
                _observer = null;
            }
            else if (_awaitsTurn || !_receive.IsPending || (count = TryReceiveUnsynchronized(_receiveBuffer)) == -Errno.Again)
            {
                // It still waits for its turn, or an event in between has updated the socket.
                return;
            }
            else
            {
                _receiveBuffer = default;
                _receive.EndUnsynchronized();
            }
        }

        if (observer is not null)
        {
            observer.OnArrival();
        }
        else
        {
            _receive.Complete(count);
        }
    }

    void ISocketEvents.OnWritable()
    {
        int result;
        lock (_socket.Gate)
        {
            if (_connecting)
            {
                _connecting = false;
                result = _socket.TakeError();

                // A peer that takes a connection and resets it at once has taken it, and may have sent something before.
                result = _connectResult = result == Errno.ConnectionReset ? 0 : result;
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
        return _sendBuffer.IsEmpty ? 0 : -Errno.Again;
    }

    private void FailPendingUnsynchronized()
    {
        _receiveBuffer = default;
        _sendBuffer = default;
        if (_observer is { } observer)
        {
            _observer = null;
            _socket.Loop.Schedule(static observer => ((IArrivalObserver)observer!).OnArrival(), observer);
        }

        _receive.CancelUnsynchronized();
        if (_connecting)
        {
            // The result of a connect is a number, not an exception.
            _connecting = false;
            _send.CancelUnsynchronized(Errno.Canceled);
        }
        else
        {
            _send.CancelUnsynchronized();
        }
    }
}
