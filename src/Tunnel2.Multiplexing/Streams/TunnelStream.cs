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
    private StreamResetDetail _peerDetail;
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

    /// <summary>The object's place in its pool's list; the pool's gate guards it.</summary>
    internal int PoolIndex { get; set; }

    /// <summary>The stream's id on its uplink.</summary>
    public StreamId Id { get; private set; }

    /// <summary>Whether its head was sent and no final head has come for it. May be a moment old.</summary>
    internal bool IsUnanswered => Volatile.Read(ref _announced) && Volatile.Read(ref _expectHead);

    /// <summary>Whether the peer was asked for a sign of life because of it; the gate of the stream table guards it.</summary>
    internal bool IsAskedAbout { get; set; }

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
    /// The detail of the peer's reset, also of one that came after the peer's direction had ended and is no failure of it; otherwise
    /// none.
    /// </summary>
    public StreamResetDetail PeerResetDetail
    {
        get
        {
            using (_lock.EnterScope())
            {
                return _peerDetail;
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
        IsAskedAbout = false;
        _failure = default;
        _peerDetail = StreamResetDetail.None;
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
        _largeHead = 0;
        _age = default;
        _announced = _uplink.Settings.Role == UplinkRole.Agent;
        _headEnds = false;
        _headCredit = 0;
        _resetAfterQueue = false;
        _endQueued = false;
        _sendOver = false;
        _resetPending = false;
        _windowPending = 0;
        _pendingEnd = false;
        _bytesSent = 0;
    }

    /// <summary>Wakes whom a change concerns. Never under a lock.</summary>
    private void Run(Completions completions)
    {
        if (completions.UplinkCredit > 0)
        {
            _sending.OnHeadOver(completions.UplinkCredit);
            _sending.TryAddCredit(completions.UplinkCredit);
        }

        if (completions.ControlQueued)
        {
            _sending.Control.AddStream(this);
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
        var completions = new Completions { Reader = _readWaiting, Writer = _writeWaiting || _roomWaiting, WriteStatus = status };
        _readWaiting = false;
        _writeWaiting = false;
        _roomWaiting = false;
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
