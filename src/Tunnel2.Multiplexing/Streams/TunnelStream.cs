using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.FlowControl;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// One exchange on an uplink: two directions that end independently. One producer sends (<see cref="BeginHead"/>, <see cref="EndHead"/>,
/// <see cref="WriteAsync"/>), one consumer receives (<see cref="WaitToReadAsync"/>, <see cref="TryRead"/>), and they may be two threads;
/// <see cref="Reset"/> may come from anywhere. The owner of the stream calls <see cref="Release"/> exactly once, when neither of the
/// two is at work any more, and never touches it again: the object is used for a later stream.
/// </summary>
/// <remarks>
/// Lock order: a stream's lock, then its uplink's gate. Continuations of waiters run outside both.
/// A side of a stream is over when it has sent END or RST and has received END or RST (docs/protocol.md, "Life of a stream").
/// </remarks>
internal sealed partial class TunnelStream
{
    /// <summary>Up to this many sent bytes a stream counts as young and goes before older ones.</summary>
    public const int YoungLimit = 64 * 1024;

    private readonly ShortLock _lock = new();
    private readonly UplinkStreams _uplink;
    private readonly SendQueue _sending;
    private StreamFailure _failure;
    private Action<object?, StreamId>? _onReset;
    private object? _onResetState;
    private bool _released;
    private bool _closed = true;
    private bool _recycled = true;

    internal TunnelStream(UplinkStreams uplink)
    {
        _uplink = uplink;
        _sending = uplink.Sending;
        _readSource.RunContinuationsAsynchronously = !uplink.Settings.InlineContinuations;
        _writeSource.RunContinuationsAsynchronously = !uplink.Settings.InlineContinuations;
    }

    /// <summary>Where the object stands in its pool's list; the pool's gate guards it.</summary>
    internal int PoolIndex { get; set; }

    /// <summary>The stream's id on its uplink.</summary>
    public StreamId Id { get; private set; }

    /// <summary>The uplink that carries the stream, as its streams know it.</summary>
    public UplinkStreams Uplink => _uplink;

    /// <summary>Why the stream was cut short, or none.</summary>
    public StreamFailure Failure
    {
        get
        {
            using (_lock.EnterScope())
            {
                return _failure;
            }
        }
    }

    /// <summary>
    /// Whether the stream was cut short and the peer has certainly done nothing with it: it refused the stream, or nothing of it was ever
    /// sent. Such a request may be tried elsewhere, with any method (docs/protocol.md section 8).
    /// </summary>
    public bool IsUntouched
    {
        get
        {
            using (_lock.EnterScope())
            {
                return _failure.Kind switch
                {
                    StreamFailureKind.PeerReset => _failure.Reason == StreamResetReason.Refused,
                    StreamFailureKind.UplinkLost => !_announced,
                    _ => false,
                };
            }
        }
    }

    /// <summary>Whether a stream that used this object is over: for a caller that does not own it.</summary>
    /// <param name="id">The stream that is meant.</param>
    public bool IsOver(StreamId id)
    {
        using (_lock.EnterScope())
        {
            return Id != id || _closed;
        }
    }

    /// <summary>
    /// Asks for one call, on a thread of the uplink, when the peer resets the stream or the uplink is lost: for an owner that waits for
    /// something other than the stream. It may come while the owner calls <see cref="Release"/>, so it has the id to compare.
    /// </summary>
    /// <param name="onReset">Must not block or throw. Called at once when it has happened already.</param>
    /// <param name="state">Given to it.</param>
    public void NotifyReset(Action<object?, StreamId> onReset, object? state)
    {
        StreamId id;
        using (_lock.EnterScope())
        {
            id = Id;
            if (!_resetReceived)
            {
                _onReset = onReset;
                _onResetState = state;
                return;
            }
        }

        onReset(state, id);
    }

    /// <summary>
    /// Makes the object a new stream. No other thread knows it yet, with one exception: where an earlier stream of this object is in the
    /// list of those that wait for the uplink's credit, this one waits in its place.
    /// </summary>
    internal void Open(StreamId id)
    {
        Id = id;
        _failure = default;
        _released = false;
        _closed = false;
        _recycled = false;
        _sendCredit = new SendCredit(_uplink.Settings.SendStreamWindow);
        _receiveWindow = new ReceiveWindow(_uplink.Settings.ReceiveStreamWindow);
        _windowGrowth = default;
        _expectHead = true;
        _endReceived = false;
        _resetReceived = false;
        _heads = default;
        _grown = 0;
        _consumed = 0;
        _age = default;
        _announced = _uplink.Settings.Role == UplinkRole.Agent;
        _headEnds = false;
        _headCredit = 0;
        _resetBehindQueue = false;
        _endQueued = false;
        _sendOver = false;
        _resetPending = false;
        _windowPending = 0;
        _pendingEnd = false;
        _bytesSent = 0;
    }

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
    public void ResetBehindHead(StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None)
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
                _resetBehindQueue = true;
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
        int unread, waiting, grown;
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
                    _resetBehindQueue = true;
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
            recycle = TryTakeForRecyclingUnsynchronized();
        }

        _uplink.ReceiveCredit.Return(unread);
        if (waiting > 0)
        {
            _uplink.ReceiveCredit.CountHead(-waiting);
        }

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
                completions.Unread = _received.ClearBehindFirst(_uplink.Settings.Buffers);
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
            completions.Unread = _received.ClearBehindFirst(_uplink.Settings.Buffers);
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

    /// <summary>Wakes whom a change concerns. Never under a lock.</summary>
    private void Run(Completions completions)
    {
        if (completions.UplinkCredit > 0)
        {
            _sending.TryAddCredit(completions.UplinkCredit);
        }

        if (completions.ControlQueued)
        {
            _sending.AddControl(this);
        }

        _uplink.ReceiveCredit.Return(completions.Unread);
        if (completions.OnReset is not null)
        {
            // A fault of one owner: those that wait on the stream are still woken, and so are those of the uplink's other streams.
            _uplink.Settings.Faults.Run("reset of a stream", static call => call.OnReset!(call.OnResetState, call.Id), completions);
        }

        if (completions.Reader)
        {
            _readSource.SetResult(true);
        }

        if (completions.Writer)
        {
            _writeSource.SetResult(completions.WriteStatus);
        }
    }

    private Completions TakeCompletionsUnsynchronized(StreamSendStatus status)
    {
        var completions = new Completions { Reader = _readWaiting, Writer = _writeWaiting, WriteStatus = status };
        _readWaiting = false;
        _writeWaiting = false;
        return completions;
    }

    private void TakeResetHandlerUnsynchronized(ref Completions completions)
    {
        completions.OnReset = _onReset;
        completions.OnResetState = _onResetState;
        completions.Id = Id;
        _onReset = null;
        _onResetState = null;
    }

    /// <summary>What is to be done once the lock is released.</summary>
    private struct Completions
    {
        public bool Reader;
        public bool Writer;
        public bool ControlQueued;
        public int UplinkCredit;
        public int Unread;
        public StreamSendStatus WriteStatus;
        public StreamId Id;
        public Action<object?, StreamId>? OnReset;
        public object? OnResetState;
    }
}
