using System.Net;
using Tunnel2.LoadTests.Exchanges;
using Tunnel2.LoadTests.Statistics;
using Tunnel2.Transport.Native;

namespace Tunnel2.LoadTests.Engine;

/// <summary>
/// A connection of a flow: carries one exchange after another. Everything happens on the generator's thread; no call blocks and none
/// allocates once the connection is open.
/// </summary>
internal sealed class LoadConnection
{
    private const int ErrnoRefused = 111;
    private const long SlowTurn = 20 * LoopClock.Millisecond;

    private readonly FlowRun _flow;
    private readonly Exchange _exchange;
    private readonly byte[] _buffer;
    private readonly byte[] _scratch;
    private readonly int _slowRate;
    private int _descriptor = -1;
    private bool _connecting;
    private bool _isWritable;
    private bool _ending;
    private long _sent;
    private byte[] _partial = [];
    private int _partialLength;
    private long _lastSlowRead;

    /// <summary>Makes one; <see cref="Open"/> connects it.</summary>
    /// <param name="flow">Whose it is.</param>
    /// <param name="exchange">Its exchanges.</param>
    /// <param name="buffer">For received bytes, shared by all: nothing stays in it.</param>
    /// <param name="scratch">For bytes to send, shared by all.</param>
    /// <param name="slowRate">How fast to read, bytes a second; 0: at once.</param>
    public LoadConnection(FlowRun flow, Exchange exchange, byte[] buffer, byte[] scratch, int slowRate)
    {
        (_flow, _exchange, _buffer, _scratch, _slowRate) = (flow, exchange, buffer, scratch, slowRate);
    }

    /// <summary>The request under way.</summary>
    public Arrival Current { get; private set; }

    /// <summary>Whether there is one.</summary>
    public bool IsBusy { get; private set; }

    /// <summary>Whether it is of no further use.</summary>
    public bool IsClosed => _descriptor < 0;

    /// <summary>Connects, and sends a request as soon as it can.</summary>
    /// <returns>The descriptor to watch; negative: it failed, and the flow knows.</returns>
    public int Open(IPEndPoint endPoint, in Arrival arrival)
    {
        Begin(arrival);
        var errno = RawSocket.Connect(endPoint, _slowRate > 0 ? _slowRate / 4 : 0, out _descriptor);
        if (errno is not (0 or Errno.InProgress))
        {
            _descriptor = -1;
            FailConnect(errno);
            return -1;
        }

        // Either way the poller's first word is that there is room to send.
        _connecting = errno != 0;
        return _descriptor;
    }

    /// <summary>Sends a request on an open connection.</summary>
    public void Start(in Arrival arrival)
    {
        Begin(arrival);
        Send();
    }

    /// <summary>Handles what the poller said.</summary>
    public void OnEvents(uint mask)
    {
        const uint Broken = EpollEvents.Error | EpollEvents.HangUp;
        if (IsClosed)
        {
            return;
        }

        if (_connecting)
        {
            _connecting = false;
            if (RawSocket.ConnectError(_descriptor) is not 0 and var errno)
            {
                FailConnect(errno);
                return;
            }
        }

        _ending |= (mask & (EpollEvents.ReadHangUp | Broken)) != 0;
        if ((mask & EpollEvents.Out) != 0 && !_isWritable)
        {
            _isWritable = true;
            if (IsBusy)
            {
                Send();
            }
        }

        if (!IsClosed && (mask & (EpollEvents.In | EpollEvents.ReadHangUp | Broken)) != 0 && (_slowRate == 0 || !IsBusy))
        {
            Receive();
        }
    }

    /// <summary>Reads a slow reader's share, and gives up what takes too long.</summary>
    public void OnTick(long now)
    {
        if (IsBusy && now - Current.Due > _flow.TimeoutNanoseconds)
        {
            Fail(FailureKind.Timeout, _exchange.HasBegun ? "in the middle of the answer" : "");
        }
        else if (IsBusy && _slowRate > 0 && !_connecting && now - _lastSlowRead >= SlowTurn)
        {
            ReceiveSlowly(now);
        }
    }

    /// <summary>Closes it, in any state.</summary>
    public void Close()
    {
        if (_descriptor >= 0)
        {
            RawSocket.Close(_descriptor);
            _descriptor = -1;
        }
    }

    private void Begin(in Arrival arrival)
    {
        Current = arrival;
        IsBusy = true;
        _sent = 0;
        _partialLength = 0;
        _lastSlowRead = LoopClock.Now;
        _exchange.Begin(arrival.Index, _flow.TargetOf(arrival.Index));
    }

    private void Send()
    {
        while (_isWritable)
        {
            var length = _exchange.Produce(_sent, _scratch);
            if (length == 0)
            {
                return;
            }

            var count = RawSocket.Send(_descriptor, _scratch.AsSpan(0, length));
            if (count < 0)
            {
                // What broke the connection comes with an event of its own, after an answer that may be there already.
                _isWritable = false;
                return;
            }

            _sent += count;
            _isWritable = count == length;
        }
    }

    private void Receive()
    {
        while (!IsClosed)
        {
            var room = MakeRoom();
            var count = RawSocket.Receive(_descriptor, room);
            // A short read has emptied the socket, unless an end was announced, which is still to be read.
            if (!Take(count) || (count < room.Length && !_ending))
            {
                return;
            }
        }
    }

    private void ReceiveSlowly(long now)
    {
        var budget = (int)Math.Min(_slowRate * (now - _lastSlowRead) / LoopClock.Second, _buffer.Length / 2);
        _lastSlowRead = now;
        var room = MakeRoom();
        Take(RawSocket.Receive(_descriptor, room[..Math.Min(room.Length, Math.Max(1, budget))]));
    }

    /// <summary>Puts what is left of the last time in front.</summary>
    private Span<byte> MakeRoom()
    {
        _partial.AsSpan(0, _partialLength).CopyTo(_buffer);
        return _buffer.AsSpan(_partialLength);
    }

    /// <returns>Whether there may be more to receive.</returns>
    private bool Take(int count)
    {
        if (count == -Errno.Again || count == -Errno.Interrupted)
        {
            return count == -Errno.Interrupted;
        }

        if (!IsBusy)
        {
            // The server gives up an unused connection, or sends what was not asked for.
            Drop();
            return false;
        }

        if (count < 0)
        {
            Fail(FailureKind.Reset, count == -Errno.ConnectionReset ? "" : Errno.ToSocketError(-count).ToString());
            return false;
        }

        ExchangeStatus status;
        if (count == 0)
        {
            status = _exchange.ReceiveEnd();
        }
        else
        {
            var length = _partialLength + count;
            status = _exchange.Receive(_buffer.AsSpan(0, length), out var consumed);
            if (status is ExchangeStatus.NeedMore or ExchangeStatus.Send && !Keep(_buffer.AsSpan(consumed, length - consumed)))
            {
                Fail(FailureKind.Malformed, "a head longer than the buffer");
                return false;
            }
        }

        switch (status)
        {
            case ExchangeStatus.Send:
                Send();
                return true;
            case ExchangeStatus.Done:
                Succeed(mayKeep: count > 0);
                return false;
            case ExchangeStatus.Failed:
                Fail(_exchange.Failure, _exchange.Detail);
                return false;
            default:
                return true;
        }
    }

    private bool Keep(ReadOnlySpan<byte> rest)
    {
        if (rest.Length > _buffer.Length / 2)
        {
            return false;
        }

        if (rest.Length > _partial.Length)
        {
            _partial = new byte[Math.Max(1024, 2 * rest.Length)];
        }

        rest.CopyTo(_partial);
        _partialLength = rest.Length;
        return true;
    }

    private void Succeed(bool mayKeep)
    {
        IsBusy = false;
        _partialLength = 0;
        var keep = mayKeep && !_ending && _exchange.KeepAlive && _flow.KeepsConnections;
        if (!keep)
        {
            Close();
        }

        _flow.OnSucceeded(this, LoopClock.Now, _exchange.BodyBytes);
    }

    private void Fail(FailureKind kind, string detail)
    {
        IsBusy = false;
        Close();
        _flow.OnFailed(this, kind, detail);
    }

    private void FailConnect(int errno) =>
        Fail(
            errno == ErrnoRefused ? FailureKind.ConnectRefused : FailureKind.ConnectFailed,
            errno == ErrnoRefused ? "" : $"{Errno.ToSocketError(errno)}");

    private void Drop()
    {
        Close();
        _flow.OnDropped();
    }
}
