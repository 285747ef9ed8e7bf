using System.Diagnostics;
using System.Threading.Tasks.Sources;
using Tunnel2.Protocol;
using Tunnel2.Protocol.FlowControl;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Streams;

/// <content>The sending direction: the producer's half, and what both halves share.</content>
internal sealed partial class TunnelStream : IValueTaskSource<StreamSendStatus>
{
    private ManualResetValueTaskSourceCore<StreamSendStatus> _writeSource;
    private SendCredit _sendCredit;

    // The head frames that wait for their turn, encoded whole, and the one that is being encoded. They are the stream's own, so that
    // sending a head never waits; body bytes stay in the producer's memory until the loop has copied them.
    private byte[]? _head;
    private int _headOffset;
    private int _headLength;
    private int _headCredit; // credit of the uplink that their body bytes have taken
    private byte[]? _building;
    private bool _headQueued;
    private bool _headEnds;

    private ReadOnlyMemory<byte> _pending;
    private bool _pendingEnd;
    private bool _writeWaiting;
    private bool _roomWaiting;

    private bool _ready;
    private bool _parked;
    private bool _controlReady;
    private bool _announced;
    private bool _endQueued;
    private bool _resetAfterQueue;
    private bool _sendOver;
    private bool _resetPending;
    private int _windowPending;
    private long _bytesSent;

    /// <summary>Whether the stream has sent little so far and goes before those that have sent much. The write loop's to ask.</summary>
    internal bool IsYoung => Volatile.Read(ref _bytesSent) < YoungLimit;

    /// <summary>Begins a header block: gives room to write it with a <see cref="HeaderBlockWriter"/>.</summary>
    /// <param name="size">Room for the block in bytes; when it overflows, begin again with more.</param>
    /// <param name="bodyHint">Body bytes that <see cref="EndHead"/> will be given with the block.</param>
    public Span<byte> BeginHead(int size, int bodyHint = 0)
    {
        const int Before = FrameHeader.Size + ProtocolLimits.HeaderBlockPrefixLength;
        var needed = Before + size + Math.Min(bodyHint, ProtocolLimits.MaxDataLength);
        if (_building is null || _building.Length < needed)
        {
            if (_building is not null)
            {
                _uplink.Settings.Buffers.Return(_building);
            }

            _building = _uplink.Settings.Buffers.Rent(needed);
        }

        return _building.AsSpan(Before, size);
    }

    /// <summary>Ends a header block and queues it, with as many first body bytes as credit and frame allow.</summary>
    /// <param name="blockLength">Bytes of the block, as its writer completed it.</param>
    /// <param name="body">The first body bytes; they are copied.</param>
    /// <param name="end">Whether this direction ends after <paramref name="body"/>.</param>
    /// <param name="bodyTaken">How many of them were taken; the rest is for <see cref="WriteAsync"/>. END is only sent when all
    /// were.</param>
    public StreamSendStatus EndHead(int blockLength, ReadOnlySpan<byte> body, bool end, out int bodyTaken)
    {
        const int Before = FrameHeader.Size + ProtocolLimits.HeaderBlockPrefixLength;
        var pool = _uplink.Settings.Buffers;
        var building = _building!;
        _building = null;
        bool schedule;
        using (_lock.EnterScope())
        {
            bodyTaken = 0;
            if (IsSendStoppedUnsynchronized)
            {
                pool.Return(building);
                return SendStatusUnsynchronized();
            }

            Debug.Assert(!_writeWaiting && !_endQueued, "One producer, and nothing after the end.");

            bodyTaken = TakeCreditUnsynchronized(Math.Min(body.Length, ProtocolLimits.MaxDataLength), parkForUplink: false, withHead: true);
            end &= bodyTaken == body.Length;
            var length = Before + blockLength + bodyTaken;
            if (building.Length < length || (bodyTaken < body.Length && building.Length / 2 >= length))
            {
                // Also where there is no credit for the body: thousands of heads that wait must not hold the room for it.
                var fitting = pool.Rent(length);
                building.AsSpan(0, Before + blockLength).CopyTo(fitting);
                pool.Return(building);
                building = fitting;
            }

            new FrameHeader(length - FrameHeader.Size, FrameType.Headers, end ? FrameFlags.End : FrameFlags.None, Id).Write(building);
            HeaderBlock.WritePrefix(building.AsSpan(FrameHeader.Size), blockLength);
            body[..bodyTaken].CopyTo(building.AsSpan(Before + blockLength));
            _bytesSent += bodyTaken;
            AppendHeadUnsynchronized(building, length);
            _headEnds = end;
            _headCredit += bodyTaken;
            _endQueued = end;
            // Step 4: the head is queued, and the stream enters the ready channel once.
            schedule = TryMarkReadyUnsynchronized();
        }

        if (schedule)
        {
            _sending.Add(this);
        }

        return StreamSendStatus.Sent;
    }

    /// <summary>
    /// How many body bytes the peer's credit for the stream lets leave now, ≥ 0: a producer that reads at most as many from its source
    /// holds nothing while the peer stalls. Credit may come at any time.
    /// </summary>
    public long SendRoom
    {
        get
        {
            using (_lock.EnterScope())
            {
                return _sendCredit.Available;
            }
        }
    }

    /// <summary>
    /// Waits for <see cref="SendRoom"/>: a producer that waits here before it reads from its source holds nothing for a peer that stalls,
    /// and reads much at once when credit comes. It is no time to wait for more: only without any credit has the peer surely some to give.
    /// </summary>
    /// <returns><see cref="StreamSendStatus.Sent"/> when there is room; otherwise why there will be none. One wait or write at a
    /// time.</returns>
    public ValueTask<StreamSendStatus> WaitForRoomAsync()
    {
        ValueTask<StreamSendStatus> result;
        using (_lock.EnterScope())
        {
            if (IsSendStoppedUnsynchronized)
            {
                return new ValueTask<StreamSendStatus>(SendStatusUnsynchronized());
            }

            Debug.Assert(!_writeWaiting && !_roomWaiting && !_endQueued, "One producer, and nothing after the end.");
            if (_sendCredit.Available > 0)
            {
                return new ValueTask<StreamSendStatus>(StreamSendStatus.Sent);
            }

            _writeSource.Reset();
            _roomWaiting = true;
            result = new ValueTask<StreamSendStatus>(this, _writeSource.Version);
        }

        _uplink.CountCreditWait();
        return result;
    }

    /// <summary>
    /// Sends body bytes. Completes when they were copied, not when they were received; the memory is borrowed until then. One at a time.
    /// </summary>
    /// <param name="data">The bytes, any number.</param>
    /// <param name="end">Whether this direction ends after them.</param>
    public ValueTask<StreamSendStatus> WriteAsync(ReadOnlyMemory<byte> data, bool end)
    {
        bool schedule, starved;
        ValueTask<StreamSendStatus> result;
        using (_lock.EnterScope())
        {
            if (IsSendStoppedUnsynchronized)
            {
                return new ValueTask<StreamSendStatus>(SendStatusUnsynchronized());
            }

            Debug.Assert(!_writeWaiting && !_roomWaiting && !_endQueued, "One producer, one write at a time, and nothing after the end.");

            if (data.IsEmpty && !end)
            {
                return new ValueTask<StreamSendStatus>(StreamSendStatus.Sent);
            }

            _pending = data;
            _pendingEnd = end;
            _endQueued = end;
            if (data.IsEmpty)
            {
                // A bare END borrows nothing, so there is nothing to wait for.
                result = new ValueTask<StreamSendStatus>(StreamSendStatus.Sent);
            }
            else
            {
                _writeSource.Reset();
                _writeWaiting = true;
                result = new ValueTask<StreamSendStatus>(this, _writeSource.Version);
            }

            schedule = TryMarkReadyUnsynchronized();
            starved = !_ready && !data.IsEmpty;
        }

        if (schedule)
        {
            _sending.Add(this);
        }
        else if (starved)
        {
            _uplink.CountCreditWait();
        }

        return result;
    }

    StreamSendStatus IValueTaskSource<StreamSendStatus>.GetResult(short token) => _writeSource.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<StreamSendStatus>.GetStatus(short token) => _writeSource.GetStatus(token);

    void IValueTaskSource<StreamSendStatus>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _writeSource.OnCompleted(continuation, state, token, flags);

    private bool IsSendStoppedUnsynchronized => !_failure.IsNone || _sendOver || _resetPending;

    private bool HasPendingUnsynchronized => _writeWaiting || _pendingEnd;

    private bool CanSendPendingUnsynchronized => HasPendingUnsynchronized && (_pending.IsEmpty || (_sendCredit.Available > 0 && !_parked));

    private StreamSendStatus SendStatusUnsynchronized() => _failure.IsNone ? StreamSendStatus.PeerReset : _failure.ToSendStatus();

    /// <summary>Whether credit allows to send something and the stream is in no queue for it yet; marks it queued.</summary>
    private bool TryMarkReadyUnsynchronized()
    {
        if (_ready || _sendOver || _resetPending || !(_headQueued || CanSendPendingUnsynchronized))
        {
            return false;
        }

        _ready = true;
        return true;
    }

    private bool TryMarkControlUnsynchronized()
    {
        if (_controlReady)
        {
            return false;
        }

        _controlReady = true;
        return true;
    }

    private void AppendHeadUnsynchronized(byte[] frame, int length)
    {
        if (!_headQueued)
        {
            _head = frame;
            _headOffset = 0;
            _headLength = length;
            _headQueued = true;
            return;
        }

        // An earlier head (an interim one, 1xx) still waits: they leave one after the other.
        var pool = _uplink.Settings.Buffers;
        if (_head!.Length < _headLength + length)
        {
            var larger = pool.Rent(_headLength + length);
            _head.AsSpan(0, _headLength).CopyTo(larger);
            pool.Return(_head);
            _head = larger;
        }

        frame.AsSpan(0, length).CopyTo(_head.AsSpan(_headLength));
        _headLength += length;
        pool.Return(frame);
    }

    private int TakeCreditUnsynchronized(int wanted, bool parkForUplink, bool withHead = false)
    {
        if (wanted == 0)
        {
            return 0;
        }

        var taken = _sendCredit.Take(wanted);
        if (taken == 0)
        {
            return 0;
        }

        var granted = withHead ? _sending.TakeCreditWithHead(taken) : _sending.TakeCredit(taken, parkForUplink ? this : null);
        if (granted < taken)
        {
            _sendCredit.TryAdd(taken - granted);
            _parked |= parkForUplink && granted == 0;
        }

        return granted;
    }

    /// <summary>Forgets what waits to be sent.</summary>
    /// <param name="uplinkCredit">Credit of the uplink that the dropped bytes had taken; to be given back outside the lock.</param>
    private void DropQueuedSendsUnsynchronized(out int uplinkCredit)
    {
        uplinkCredit = _headCredit;
        _headCredit = 0;
        if (_headQueued)
        {
            _uplink.Settings.Buffers.Return(_head!);
            _head = null;
            _headQueued = false;
        }

        _pending = default;
        _pendingEnd = false;
    }
}
