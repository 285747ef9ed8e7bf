using System.IO.Pipelines;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>
/// One direction of a connection: bytes in order, a bounded number of them under way, as in a socket's kernel buffers. A send completes
/// when its last byte has found room. A receive without a buffer waits until there is something.
/// </summary>
internal sealed class BoundedPipe
{
    private readonly Lock _gate = new();
    private readonly byte[] _ring;
    private readonly PendingOperation _receive;
    private readonly PendingOperation _send;
    private int _first;
    private int _count;
    private ReadOnlyMemory<byte> _sendRest;
    private Memory<byte> _receiveBuffer;
    private Exception? _broken;
    private bool _closed;
    private bool _stalled;
    private Random? _tear;

    public BoundedPipe(int capacity, PipeScheduler scheduler)
    {
        _ring = new byte[capacity];
        _receive = new PendingOperation(scheduler);
        _send = new PendingOperation(scheduler);
    }

    /// <summary>Bytes that went through.</summary>
    public long Received { get; private set; }

    /// <summary>Bytes that were sent and not received yet.</summary>
    public int Available
    {
        get
        {
            lock (_gate)
            {
                return _count + _sendRest.Length;
            }
        }
    }

    /// <summary>Whether more may come: neither side has ended it.</summary>
    public bool IsOpen
    {
        get
        {
            lock (_gate)
            {
                return !_closed && _broken is null;
            }
        }
    }

    /// <summary>Whether a send waits for room.</summary>
    public bool IsSendWaiting
    {
        get
        {
            lock (_gate)
            {
                return _send.IsWaiting;
            }
        }
    }

    /// <summary>Whether the end was sent and everything before it was received.</summary>
    public bool IsOver
    {
        get
        {
            lock (_gate)
            {
                return _closed && _count == 0 && _sendRest.IsEmpty && _broken is null;
            }
        }
    }

    /// <summary>Every receive gives a random piece of what is there from now on.</summary>
    public void Tear(Random random)
    {
        lock (_gate)
        {
            _tear = random;
        }
    }

    /// <summary>The receiving side is given nothing until <see cref="Resume"/>.</summary>
    public void Stall()
    {
        lock (_gate)
        {
            _stalled = true;
        }
    }

    public void Resume() => Change(static pipe => pipe._stalled = false);

    /// <summary>An orderly end after what was sent.</summary>
    public void Close() => Change(static pipe => pipe._closed = true);

    /// <summary>What is under way is lost; both sides' operations fail.</summary>
    public void Break(string message)
    {
        var error = new IOException(message);
        Change(pipe =>
        {
            if (pipe._broken is null)
            {
                pipe._broken = error;
                pipe._count = 0;
            }
        });
    }

    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        bool receiveDone, sendDone;
        int result;
        short version;
        lock (_gate)
        {
            if (_broken is not null)
            {
                return ValueTask.FromException<int>(_broken);
            }

            _receiveBuffer = buffer;
            version = _receive.Begin();
            (receiveDone, sendDone, result) = TransferUnsynchronized();
        }

        if (sendDone)
        {
            _send.Deliver();
        }

        return receiveDone ? new ValueTask<int>(result) : new ValueTask<int>(_receive, version);
    }

    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        bool receiveDone, sendDone;
        short version;
        lock (_gate)
        {
            Assert.False(_closed, "Nothing is sent behind the end.");
            if (_broken is not null)
            {
                return ValueTask.FromException(_broken);
            }

            _sendRest = buffer;
            version = _send.Begin();
            (receiveDone, sendDone, _) = TransferUnsynchronized();
        }

        if (receiveDone)
        {
            _receive.Deliver();
        }

        return sendDone ? default : new ValueTask(_send, version);
    }

    private void Change(Action<BoundedPipe> change)
    {
        bool receiveDone, sendDone;
        lock (_gate)
        {
            change(this);
            (receiveDone, sendDone, _) = TransferUnsynchronized();
        }

        if (receiveDone)
        {
            _receive.Deliver();
        }

        if (sendDone)
        {
            _send.Deliver();
        }
    }

    private (bool ReceiveDone, bool SendDone, int Received) TransferUnsynchronized()
    {
        var receiveDone = false;
        var sendDone = false;
        var received = 0;
        if (_broken is not null)
        {
            receiveDone = _receive.IsWaiting;
            sendDone = _send.IsWaiting;
            if (receiveDone)
            {
                _receive.Finish(0, _broken);
            }

            if (sendDone)
            {
                _sendRest = default;
                _send.Finish(0, _broken);
            }

            return (receiveDone, sendDone, 0);
        }

        FillUnsynchronized();
        if (_receive.IsWaiting && !_stalled && (_count > 0 || _closed))
        {
            received = DrainUnsynchronized();
            _receive.Finish(received, null);
            receiveDone = true;
            FillUnsynchronized();
        }

        if (_send.IsWaiting && _sendRest.IsEmpty)
        {
            _send.Finish(0, null);
            sendDone = true;
        }

        return (receiveDone, sendDone, received);
    }

    private void FillUnsynchronized()
    {
        while (!_sendRest.IsEmpty && _count < _ring.Length)
        {
            var at = (_first + _count) % _ring.Length;
            var length = Math.Min(_sendRest.Length, Math.Min(_ring.Length - _count, _ring.Length - at));
            _sendRest.Span[..length].CopyTo(_ring.AsSpan(at));
            _sendRest = _sendRest[length..];
            _count += length;
        }
    }

    private int DrainUnsynchronized()
    {
        var wanted = Math.Min(_count, _receiveBuffer.Length);
        if (_tear is not null && wanted > 1)
        {
            wanted = _tear.Next(4) == 0 ? _tear.Next(1, Math.Min(wanted, 12)) : _tear.Next(1, wanted + 1);
        }

        var copied = 0;
        while (copied < wanted)
        {
            var length = Math.Min(wanted - copied, _ring.Length - _first);
            _ring.AsSpan(_first, length).CopyTo(_receiveBuffer.Span[copied..]);
            _first = (_first + length) % _ring.Length;
            _count -= length;
            copied += length;
        }

        _receiveBuffer = default;
        Received += copied;
        return copied;
    }
}
