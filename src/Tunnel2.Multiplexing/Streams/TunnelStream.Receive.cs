using System.Numerics;
using System.Threading.Tasks.Sources;
using Tunnel2.Multiplexing.Windows;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.FlowControl;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Streams;

/// <content>The receiving direction: the half that the uplink's reader calls, and the consumer's half.</content>
internal sealed partial class TunnelStream : IValueTaskSource<bool>
{
    private ManualResetValueTaskSourceCore<bool> _readSource;
    private ReceiveBuffer _received;
    private ReceiveWindow _receiveWindow;
    private WindowGrowth _windowGrowth;
    private UnreadHeads _heads;
    private HeldAge _age;
    private long _consumed;
    private int _largeHead;
    private int _grown;
    private bool _readWaiting;
    private bool _expectHead;
    private bool _endReceived;
    private bool _resetReceived;

    /// <summary>
    /// Completes when <see cref="TryRead"/> has something: a head, bytes, the end or the failure. One wait at a time.
    /// </summary>
    public ValueTask<bool> WaitToReadAsync()
    {
        using (_lock.EnterScope())
        {
            if (IsReadableUnsynchronized)
            {
                return new ValueTask<bool>(true);
            }

            _readSource.Reset();
            _readWaiting = true;
            return new ValueTask<bool>(this, _readSource.Version);
        }
    }

    /// <summary>Gives the next thing to read, if there is one, without consuming it.</summary>
    /// <param name="item">A view, valid until <see cref="ConsumeHead"/>, <see cref="ConsumeData"/> or <see cref="Release"/>.</param>
    public bool TryRead(out StreamItem item)
    {
        using (_lock.EnterScope())
        {
            if (!_received.IsEmpty && _failure.Kind != StreamFailureKind.LocalReset)
            {
                var kind = _received.FirstIsHead ? StreamItemKind.Head : StreamItemKind.Data;
                item = new StreamItem(kind, _received.First, _endReceived && _received.HasOne);
                return true;
            }

            item = new StreamItem(
                _endReceived && _failure.Kind != StreamFailureKind.LocalReset ? StreamItemKind.End : StreamItemKind.Failed,
                default,
                IsLast: true);
            return IsReadableUnsynchronized;
        }
    }

    /// <summary>The head that <see cref="TryRead"/> showed is consumed; its memory is gone.</summary>
    public void ConsumeHead()
    {
        int waited, large;
        using (_lock.EnterScope())
        {
            if (_released || _received.IsEmpty)
            {
                return;
            }

            large = TakeLargeHeadUnsynchronized();
            _heads.Remove(_received.First.Length, out waited);
            _received.ConsumeHead(_uplink.Settings.Buffers);
        }

        if (waited > 0)
        {
            _uplink.ReceiveCredit.CountHead(-waited);
        }

        ReturnLargeHead(large);
    }

    /// <summary>
    /// Bytes that <see cref="TryRead"/> showed were consumed: written to the socket they are meant for. Their credit returns.
    /// </summary>
    /// <param name="count">Bytes from the start of what was shown.</param>
    public void ConsumeData(int count)
    {
        // Step 9: the bytes have left this side, so their credit returns to the stream and to the uplink.
        var schedule = false;
        long now = 0;
        using (_lock.EnterScope())
        {
            if (_released || count == 0)
            {
                return;
            }

            _received.ConsumeData(count, _uplink.Settings.Buffers);
            _consumed += count;
            var increment = _receiveWindow.Consume(count - ShrinkWindowUnsynchronized(count));
            if (increment > 0 && !_endReceived && !_resetReceived && !_closed)
            {
                _windowPending += increment + GrowWindowUnsynchronized(increment, out now);
                schedule = TryMarkControlUnsynchronized();
            }
        }

        _uplink.ReceiveCredit.Return(count);
        if (schedule)
        {
            _sending.Control.AddStream(this);
        }

        if (now != 0)
        {
            _uplink.ProbeRoundTrip(now);
        }
    }

    /// <summary>
    /// Counts the head of a request that has just come, where it is large, until it is consumed or the stream is released.
    /// </summary>
    /// <param name="length">Bytes of its block.</param>
    /// <returns>False when large heads hold as much as they may.</returns>
    internal bool TryCountHead(int length)
    {
        if (length <= ReceiveBudget.SmallHead)
        {
            return true;
        }

        var held = (int)BitOperations.RoundUpToPowerOf2((uint)length);
        if (!_uplink.Settings.ReceiveBudget.TryTakeHead(held))
        {
            return false;
        }

        using (_lock.EnterScope())
        {
            _largeHead = held;
        }

        return true;
    }

    bool IValueTaskSource<bool>.GetResult(short token) => _readSource.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _readSource.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _readSource.OnCompleted(continuation, state, token, flags);

    /// <summary>A HEADERS frame came; its block was found well-formed.</summary>
    internal ProtocolError OnHeaders(ReadOnlySpan<byte> blockBytes, scoped in HeaderBlock block, ReadOnlySpan<byte> body, bool end)
    {
        bool wake, recycle;
        int dropped;
        var waits = 0;
        using (_lock.EnterScope())
        {
            if (_endReceived || _resetReceived)
            {
                return ProtocolError.FrameAfterEnd;
            }

            if (block.Kind == HeaderBlockKind.Trailers)
            {
                if (_expectHead || !end || !body.IsEmpty)
                {
                    return ProtocolError.UnexpectedHeaderBlock;
                }
            }
            else if (!_expectHead || (block.IsInterim && (end || !body.IsEmpty)))
            {
                return ProtocolError.UnexpectedHeaderBlock;
            }

            if (!_receiveWindow.TryReceive(body.Length))
            {
                return ProtocolError.StreamCreditOverrun;
            }

            _expectHead &= block.IsInterim;
            _endReceived = end;
            dropped = 0;
            if (IsDroppingUnsynchronized)
            {
                dropped = body.Length;
            }
            else
            {
                switch (_heads.Add(blockBytes.Length, block.IsInterim, out waits))
                {
                    case HeadRoom.TooMany:
                        return ProtocolError.UnexpectedHeaderBlock;
                    case HeadRoom.Dropped:
                        return ProtocolError.None;
                    default:
                        break;
                }

                _received.AppendHead(blockBytes, _uplink.Settings.Buffers);
                if (!body.IsEmpty)
                {
                    _received.AppendData(body, _uplink.Settings.Buffers);
                }
            }

            wake = TakeReadWaiterUnsynchronized();
            TryCloseUnsynchronized();
            recycle = TryTakeForRecyclingUnsynchronized();
        }

        if (waits > 0)
        {
            _uplink.ReceiveCredit.CountHead(waits);
        }

        FinishReceive(dropped, wake, recycle);
        return ProtocolError.None;
    }

    /// <summary>A DATA frame came.</summary>
    /// <param name="payload">Its bytes; they are copied.</param>
    /// <param name="end">Whether this direction ends after them.</param>
    /// <param name="wake">Whether a reader waits: <see cref="WakeReader"/> is then the caller's to call, once.</param>
    internal ProtocolError OnData(ReadOnlySpan<byte> payload, bool end, out bool wake)
    {
        bool recycle;
        int dropped;
        wake = false;
        using (_lock.EnterScope())
        {
            if (_resetReceived || _endReceived || _expectHead)
            {
                return ProtocolError.FrameAfterEnd;
            }

            if (!_receiveWindow.TryReceive(payload.Length))
            {
                return ProtocolError.StreamCreditOverrun;
            }

            _endReceived = end;
            dropped = 0;
            if (IsDroppingUnsynchronized)
            {
                dropped = payload.Length;
            }
            else if (!payload.IsEmpty)
            {
                _received.AppendData(payload, _uplink.Settings.Buffers);
            }

            wake = (end || !payload.IsEmpty) && TakeReadWaiterUnsynchronized();
            TryCloseUnsynchronized();
            recycle = TryTakeForRecyclingUnsynchronized();
        }

        FinishReceive(dropped, wake: false, recycle);
        return ProtocolError.None;
    }

    /// <summary>Wakes the reader that <see cref="OnData"/> found waiting.</summary>
    internal void WakeReader() => _readSource.SetResult(true);

    /// <summary>A RST frame came.</summary>
    internal void OnRst(StreamId id, StreamResetReason reason, StreamResetDetail detail)
    {
        Completions completions;
        bool recycle;
        using (_lock.EnterScope())
        {
            if (_closed || Id != id || _resetReceived)
            {
                return;
            }

            _resetReceived = true;
            _peerDetail = detail;
            if (!_endReceived && _failure.IsNone)
            {
                _failure = new StreamFailure(StreamFailureKind.PeerReset, reason, detail);
            }

            completions = TakeCompletionsUnsynchronized(StreamSendStatus.PeerReset);
            TakeResetHandlerUnsynchronized(ref completions);
            if (!_sendOver)
            {
                // Every RST is answered, except when this direction has ended: so both ends know when the slot is free.
                DropQueuedSendsUnsynchronized(out completions.UplinkCredit);
                if (!_resetPending)
                {
                    _resetPending = true;
                    completions.ControlQueued = TryMarkControlUnsynchronized();
                }
            }

            TryCloseUnsynchronized();
            recycle = TryTakeForRecyclingUnsynchronized();
        }

        Run(completions);
        if (recycle)
        {
            _uplink.Pool.Return(this);
        }
    }

    private bool IsReadableUnsynchronized => !_received.IsEmpty || _endReceived || _resetReceived || !_failure.IsNone;

    /// <summary>Whether no reader will take what still arrives.</summary>
    private bool IsDroppingUnsynchronized => _released || _failure.Kind == StreamFailureKind.LocalReset;

    /// <summary>Whether the stream holds bytes that arrived some time ago, and what that costs.</summary>
    /// <param name="time">A clock.</param>
    /// <param name="leastAge">How old the oldest byte has to be.</param>
    /// <param name="held">The stream, when it holds anything at all.</param>
    internal bool TryWeigh(TimeProvider time, TimeSpan leastAge, out HeldStream held)
    {
        using (_lock.EnterScope())
        {
            var bytes = _released ? 0 : _received.DataLength + _heads.Bytes;
            var age = _age.Look(bytes, _consumed, time, time.GetTimestamp());
            held = bytes > 0 ? new HeldStream(this, Id, (double)bytes * age.Ticks) : default;
            return bytes > 0 && age >= leastAge;
        }
    }

    /// <summary>Takes consumed bytes out of the window when memory is short and the stream has more of it than it may.</summary>
    /// <returns>Of <paramref name="count"/>, the bytes whose credit does not return.</returns>
    private int ShrinkWindowUnsynchronized(int count)
    {
        var surplus = _receiveWindow.Size - _uplink.Settings.ReceiveBudget.StreamShare;
        if (surplus <= 0)
        {
            return 0;
        }

        var retired = Math.Min(count, surplus);
        _receiveWindow.Retire(retired);
        return retired;
    }

    /// <summary>Makes the window larger when the window is what holds up the peer, and the budgets have room for it.</summary>
    /// <param name="consumed">Bytes whose credit returns now.</param>
    /// <param name="now">The time of the question, or 0 where windows do not grow.</param>
    /// <returns>The credit to grant beyond what was consumed.</returns>
    private int GrowWindowUnsynchronized(int consumed, out long now)
    {
        var settings = _uplink.Settings;
        now = 0;
        var lost = settings.ReceiveStreamWindow - _receiveWindow.Size;
        if (settings.ReceiveBudget.StreamShare != int.MaxValue || (lost <= 0 && !settings.GrowsWindows))
        {
            return 0;
        }

        if (lost > 0)
        {
            // It shrank while memory was short, and now there is enough.
            return _receiveWindow.Grow(lost);
        }

        now = settings.TimeProvider.GetTimestamp();
        var by = _windowGrowth.Ask(
            consumed, _receiveWindow.Size, settings.MaxReceiveStreamWindow, _uplink.RoundTrip.Path, settings.TimeProvider, now);
        if (by == 0 || !_uplink.WindowGrowth.TryTake(by))
        {
            return 0;
        }

        _grown += by;
        return _receiveWindow.Grow(by);
    }

    private int TakeLargeHeadUnsynchronized()
    {
        var held = _largeHead;
        _largeHead = 0;
        return held;
    }

    private void ReturnLargeHead(int held)
    {
        if (held > 0)
        {
            _uplink.Settings.ReceiveBudget.ReturnHead(held);
        }
    }

    private bool TakeReadWaiterUnsynchronized()
    {
        var waiting = _readWaiting;
        _readWaiting = false;
        return waiting;
    }

    private void FinishReceive(int dropped, bool wake, bool recycle)
    {
        if (dropped > 0)
        {
            _uplink.ReceiveCredit.Return(dropped);
        }

        if (wake)
        {
            _readSource.SetResult(true);
        }

        if (recycle)
        {
            _uplink.Pool.Return(this);
        }
    }
}
