using System.Diagnostics;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Streams;

/// <content>The sending direction: the half that the uplink calls, its write loop for frames and its reader for credit.</content>
internal sealed partial class TunnelStream
{
    /// <summary>The write loop's turn for this stream: copies one frame.</summary>
    /// <param name="room">Where to; at least a full DATA frame.</param>
    /// <param name="written">Bytes copied.</param>
    internal StreamTurn TakeTurn(Span<byte> room, out int written)
    {
        written = 0;
        var completed = false;
        var control = false;
        bool recycle;
        var turn = StreamTurn.Done;
        using (_lock.EnterScope())
        {
            if (_headQueued)
            {
                written = CopyHeadUnsynchronized(room);
                if (written == 0)
                {
                    return StreamTurn.NoRoom;
                }
            }
            else if (HasPendingUnsynchronized)
            {
                written = CopyDataUnsynchronized(room);
                completed = written > 0 && _pending.IsEmpty && _writeWaiting;
                if (completed)
                {
                    _writeWaiting = false;
                }
            }

            _ready = false;
            if (TryMarkReadyUnsynchronized())
            {
                turn = StreamTurn.Again;
            }
            else if (!_pending.IsEmpty && !_sendOver && !_resetPending)
            {
                _uplink.CountCreditWait();
            }

            if (_resetAfterQueue
                && !_headQueued
                && !HasPendingUnsynchronized
                && !_resetPending
                && !_resetReceived
                && (!_sendOver || !_endReceived))
            {
                _resetPending = true;
                control = TryMarkControlUnsynchronized();
            }

            TryCloseUnsynchronized();
            recycle = TryTakeForRecyclingUnsynchronized();
        }

        if (control)
        {
            _sending.Control.AddStream(this);
        }

        if (completed)
        {
            _writeSource.SetResult(StreamSendStatus.Sent);
        }

        if (recycle)
        {
            _uplink.Pool.Return(this);
        }

        return turn;
    }

    /// <summary>The write loop's turn for this stream's control frames: WINDOW, RST.</summary>
    /// <param name="room">Where to; at least one of each.</param>
    internal int TakeControlTurn(Span<byte> room)
    {
        var written = 0;
        bool recycle;
        using (_lock.EnterScope())
        {
            _controlReady = false;
            if (_windowPending > 0 && !_closed && !_resetPending && !_endReceived && !_resetReceived)
            {
                written += ControlFrames.WriteWindow(room, Id, _windowPending);
            }

            _windowPending = 0;
            if (_resetPending && !_closed)
            {
                written += ControlFrames.WriteRst(room[written..], Id, _failure.Reason, _failure.Detail);
                _resetPending = false;
                _sendOver = true;
            }

            TryCloseUnsynchronized();
            recycle = TryTakeForRecyclingUnsynchronized();
        }

        if (recycle)
        {
            _uplink.Pool.Return(this);
        }

        return written;
    }

    /// <summary>The peer granted credit.</summary>
    internal ProtocolError OnWindow(StreamId id, int increment)
    {
        bool schedule, room;
        using (_lock.EnterScope())
        {
            if (_closed || Id != id)
            {
                return ProtocolError.None;
            }

            if (!_sendCredit.TryAdd(increment))
            {
                return ProtocolError.CreditOverflow;
            }

            schedule = TryMarkReadyUnsynchronized();
            room = _roomWaiting;
            _roomWaiting = false;
        }

        if (schedule)
        {
            _sending.Add(this);
        }

        if (room)
        {
            _writeSource.SetResult(StreamSendStatus.Sent);
        }

        return ProtocolError.None;
    }

    /// <summary>The uplink has credit again.</summary>
    internal void OnUplinkCredit()
    {
        bool schedule;
        using (_lock.EnterScope())
        {
            _parked = false;
            schedule = TryMarkReadyUnsynchronized();
        }

        if (schedule)
        {
            _sending.Add(this);
        }
    }

    /// <summary>Copies the first of the head frames that wait.</summary>
    /// <returns>Bytes copied, or 0 when it does not fit.</returns>
    private int CopyHeadUnsynchronized(Span<byte> room)
    {
        var frames = _head.AsSpan(_headOffset, _headLength - _headOffset);
        var error = FrameHeader.TryRead(frames, out var header);
        Debug.Assert(error == ProtocolError.None, "These frames are our own.");
        var length = FrameHeader.Size + header.Length;
        if (length > room.Length)
        {
            return 0;
        }

        frames[..length].CopyTo(room);
        HeaderBlock.TrySplit(frames[FrameHeader.Size..length], out _, out var body);
        if (!body.IsEmpty)
        {
            _headCredit -= body.Length;
            _sending.OnHeadOver(body.Length);
        }

        _headOffset += length;
        _announced = true;
        if (_headOffset == _headLength)
        {
            _uplink.Settings.Buffers.Return(_head!);
            _head = null;
            _headQueued = false;
            _sendOver |= _headEnds;
        }

        return length;
    }

    private int CopyDataUnsynchronized(Span<byte> room)
    {
        var count = Math.Min(_pending.Length, Math.Min(ProtocolLimits.MaxDataLength, room.Length - FrameHeader.Size));
        if (count > 0)
        {
            count = TakeCreditUnsynchronized(count, parkForUplink: !_parked);
            if (count == 0)
            {
                return 0;
            }
        }

        var end = _pendingEnd && count == _pending.Length;
        new FrameHeader(count, FrameType.Data, end ? FrameFlags.End : FrameFlags.None, Id).Write(room);
        _pending.Span[..count].CopyTo(room[FrameHeader.Size..]);
        _pending = _pending[count..];
        _bytesSent += count;
        if (end)
        {
            _pendingEnd = false;
            _sendOver = true;
        }

        return FrameHeader.Size + count;
    }
}

/// <summary>How a stream's turn in the write loop ended.</summary>
internal enum StreamTurn
{
    /// <summary>Nothing more to send for now.</summary>
    Done,

    /// <summary>There is more: back to the end of the queue.</summary>
    Again,

    /// <summary>The frame did not fit into what is left of the batch: the same stream comes first in the next one.</summary>
    NoRoom,
}
