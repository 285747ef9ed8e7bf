using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Streams;

/// <content>How a stream ends: by a reset, by its release, by the loss of its uplink.</content>
internal sealed partial class TunnelStream
{
    /// <summary>
    /// Cuts the stream short: RST with a reason, both directions over, every wait completed. Does nothing when it is over already.
    /// </summary>
    /// <param name="reason">The reason for the peer.</param>
    /// <param name="detail">More about it.</param>
    public void Reset(StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None)
    {
        Completions completions;
        using (_lock.EnterScope())
        {
            completions = ResetUnsynchronized(new StreamFailure(StreamFailureKind.LocalReset, reason, detail));
        }

        Run(completions);
    }

    /// <summary>
    /// The same, but after a head and its first bytes that still wait for their turn: what came before the cut is sent. For the stream's
    /// owner, with no write under way.
    /// </summary>
    /// <param name="reason">The reason for the peer.</param>
    /// <param name="detail">More about it.</param>
    public void ResetAfterHead(StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None)
    {
        Completions completions = default;
        using (_lock.EnterScope())
        {
            var failure = new StreamFailure(StreamFailureKind.LocalReset, reason, detail);
            if (!_headQueued || _writeWaiting || _closed || _resetPending || !_failure.IsNone)
            {
                completions = ResetUnsynchronized(failure);
            }
            else
            {
                _failure = failure;
                _resetAfterQueue = true;
            }
        }

        Run(completions);
    }

    /// <summary>
    /// The same as <see cref="Reset"/> for a caller that does not own the stream and may come late: nothing happens when the object already
    /// serves another stream.
    /// </summary>
    /// <param name="id">The stream that is meant.</param>
    /// <param name="reason">The reason for the peer.</param>
    /// <param name="detail">More about it.</param>
    public void ResetIf(StreamId id, StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None)
    {
        Completions completions = default;
        using (_lock.EnterScope())
        {
            if (Id == id && !_released)
            {
                completions = ResetUnsynchronized(new StreamFailure(StreamFailureKind.LocalReset, reason, detail));
            }
        }

        Run(completions);
    }

    /// <summary>
    /// Gives the stream back. What it has queued in order is still sent; RST ends a direction that has not ended in order.
    /// </summary>
    public void Release()
    {
        // Step 10: each side releases its stream once, and last.
        Completions completions = default;
        bool recycle;
        int unread, waiting, grown, large;
        using (_lock.EnterScope())
        {
            if (_released)
            {
                return;
            }

            _released = true;
            _onReset = null;
            _onResetState = null;
            var sendUnfinished = !_sendOver && !_endQueued && !_resetPending;
            var receiveUnfinished = !_endReceived && !_resetReceived;
            if (!_closed && _failure.IsNone && (sendUnfinished || receiveUnfinished))
            {
                // A complete response with a request body still coming is no failure: the peer only has to stop.
                var failure = new StreamFailure(
                    StreamFailureKind.LocalReset, sendUnfinished ? StreamResetReason.Cancel : StreamResetReason.None);
                if (sendUnfinished || _sendOver)
                {
                    completions = ResetUnsynchronized(failure);
                }
                else
                {
                    // The end still waits for its turn; the RST goes after it.
                    _failure = failure;
                    _resetAfterQueue = true;
                }
            }

            if (_building is not null)
            {
                _uplink.Settings.Buffers.Return(_building);
                _building = null;
            }

            unread = _received.Clear(_uplink.Settings.Buffers);
            waiting = _heads.TakeWaiting();
            grown = _grown;
            large = TakeLargeHeadUnsynchronized();
            recycle = TryTakeForRecyclingUnsynchronized();
        }

        _uplink.ReceiveCredit.Return(unread);
        if (waiting > 0)
        {
            _uplink.ReceiveCredit.CountHead(-waiting);
        }

        ReturnLargeHead(large);
        if (grown > 0)
        {
            _uplink.WindowGrowth.Return(grown);
        }

        Run(completions);
        if (recycle)
        {
            _uplink.Pool.Return(this);
        }
    }

    /// <summary>
    /// Memory is short, and what this stream holds is not consumed: the stream gives it back at once and is reset if it is not over yet.
    /// Its owner gets the call that <see cref="NotifyReset"/> asked for, because it waits for something other than the stream.
    /// </summary>
    /// <param name="id">The stream that is meant.</param>
    /// <returns>Bytes that were given back; the owner gives back the others when it releases the stream.</returns>
    internal int CutStalled(StreamId id)
    {
        Completions completions;
        using (_lock.EnterScope())
        {
            if (Id != id || _released || _received.IsEmpty)
            {
                return 0;
            }

            var reason = _uplink.Settings.Role == UplinkRole.Entry ? StreamResetReason.Cancel : StreamResetReason.BackendTimeout;
            var failure = new StreamFailure(StreamFailureKind.LocalReset, reason, StreamResetDetail.Stalled);
            completions = ResetUnsynchronized(failure);
            if (_failure != failure)
            {
                // It is over on the wire already: only what it holds is left of it.
                _failure = failure;
                completions = TakeCompletionsUnsynchronized(failure.ToSendStatus());
                completions.Unread = _received.ClearAfterFirst(_uplink.Settings.Buffers);
            }

            TakeResetHandlerUnsynchronized(ref completions);
        }

        var given = completions.Unread;
        Run(completions);
        return given;
    }

    /// <summary>The uplink is gone: everything ends here, and nothing can be sent any more.</summary>
    internal void OnUplinkLost(SessionEndReason reason)
    {
        Completions completions;
        using (_lock.EnterScope())
        {
            if (_failure.IsNone && !(_endReceived && (_sendOver || _endQueued)))
            {
                _failure = new StreamFailure(StreamFailureKind.UplinkLost, UplinkReason: reason);
            }

            _sendOver = true;
            _resetReceived = true;
            _closed = true;
            DropQueuedSendsUnsynchronized(out _);
            completions = TakeCompletionsUnsynchronized(StreamSendStatus.UplinkLost);
            TakeResetHandlerUnsynchronized(ref completions);
        }

        Run(completions);
    }

    /// <summary>Takes the stream back when nothing of it has been sent: to its owner it is lost, to the peer it never was.</summary>
    internal void Withdraw(SessionEndReason reason)
    {
        Completions completions = default;
        using (_lock.EnterScope())
        {
            if (!_announced && !_released && !_closed && _failure.IsNone)
            {
                completions = ResetUnsynchronized(new StreamFailure(StreamFailureKind.UplinkLost, UplinkReason: reason));
                TakeResetHandlerUnsynchronized(ref completions);
            }
        }

        Run(completions);
    }

    private Completions ResetUnsynchronized(StreamFailure failure)
    {
        if (_closed || _resetPending || !_failure.IsNone)
        {
            return default;
        }

        _failure = failure;
        DropQueuedSendsUnsynchronized(out var credit);
        var completions = TakeCompletionsUnsynchronized(failure.ToSendStatus());
        completions.UplinkCredit = credit;
        if (failure.Kind == StreamFailureKind.LocalReset)
        {
            // It will not be read. The first piece may be on its way to a socket: its holder gives that one back.
            completions.Unread = _received.ClearAfterFirst(_uplink.Settings.Buffers);
        }

        if (_announced)
        {
            _resetPending = true;
            completions.ControlQueued = TryMarkControlUnsynchronized();
        }
        else
        {
            // The peer has never heard of the stream: to it, a RST would be for one that was never opened.
            _sendOver = true;
            _closed = true;
            _uplink.AbandonSlot(Id);
        }

        return completions;
    }

    /// <summary>Both directions over: the slot is free for the next generation.</summary>
    private bool TryCloseUnsynchronized()
    {
        if (_closed || !_sendOver || (!_endReceived && !_resetReceived))
        {
            return false;
        }

        _closed = true;
        _uplink.FreeSlot(Id);
        return true;
    }

    /// <summary>
    /// Whether this call is the one that may give the object to the pool: the stream is over, its owner has released it and no queue
    /// holds it. True once for each use of the object.
    /// </summary>
    private bool TryTakeForRecyclingUnsynchronized()
    {
        if (!_released || !_closed || _ready || _controlReady || _recycled)
        {
            return false;
        }

        _recycled = true;
        return true;
    }
}
