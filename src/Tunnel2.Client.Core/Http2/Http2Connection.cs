using System.IO.Pipelines;
using Tunnel2.Http2.Frames;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Client.Core.Http2;

/// <summary>
/// A connection to an HTTP/2 service (RFC 9113) with many streams. Its reader waits for the transport only, its writer sends what
/// streams and reader have queued. One gate guards everything; it is never held while a wait completes. Thread-safe.
/// </summary>
/// <remarks>
/// What a stream may hold unread is bounded by its window. The connection's own window is so large that it never holds up a stream because
/// of another one.
/// </remarks>
internal sealed partial class Http2Connection
{
    /// <summary>Requests at once, where the service allows as many.</summary>
    public const int MaxStreams = 256;

    /// <summary>A stream's window at its start.</summary>
    public const int FirstWindow = 64 * 1024;

    /// <summary>How large it may become.</summary>
    public const int MaxWindow = 512 * 1024;

    private const int ConnectionWindow = 1 << 30;

    /// <summary>After this number of a stream the connection takes no more: 2^31-1 is the last one.</summary>
    private const int LastId = int.MaxValue - 1024;

    private readonly IByteTransport _transport;
    private readonly BufferPool _buffers;
    private readonly Http2WindowBudget _windows;
    private readonly ContainedFaults _faults;
    private readonly TimeProvider _time;
    private readonly PipeScheduler? _home;
    private readonly bool _inline;
    private readonly Lock _gate = new();
    private readonly Dictionary<int, Http2Stream> _streams = [];
    private readonly Stack<Http2Stream> _pool = new();
    private readonly TaskCompletionSource<Http2Start> _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _allows = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private Http2FloodGuard _flood;
    private Http2PeerSettings _peer = new();
    private long _sendWindow = Http2Frames.DefaultWindow;
    private long _receiveWindow = Http2Frames.DefaultWindow;
    private int _nextId = 1;
    private int _taken;
    private bool _isRetired;
    private bool _isEnded;
    private bool _hasGivenWay;
    private bool _leftAfterRequests;
    private bool _isFull;
    private long _idleSince;

    /// <summary>Takes over a transport; nothing is sent before <see cref="RunAsync"/>.</summary>
    /// <param name="transport">The transport.</param>
    /// <param name="buffers">Where buffers come from.</param>
    /// <param name="windows">What windows may grow by.</param>
    /// <param name="faults">Where faults of our own are counted.</param>
    /// <param name="time">The clock.</param>
    public Http2Connection(
        IByteTransport transport, BufferPool buffers, Http2WindowBudget windows, ContainedFaults faults, TimeProvider time)
    {
        _transport = transport;
        _buffers = buffers;
        _windows = windows;
        _faults = faults;
        _time = time;
        _home = transport.Home;
        _inline = _home is not null;
        _flood = new Http2FloodGuard(time);
        _idleSince = time.GetTimestamp();
    }

    /// <summary>How many requests it takes at most: more would come too late for a service that ends it after as many.</summary>
    public int MostRequests { get; init; } = int.MaxValue;

    /// <summary>
    /// After how many requests the service has ended it, of those that others came too late for; 0: it has not, as far as that can be said.
    /// </summary>
    public int EndedAfter { get; private set; }

    /// <summary>Whether it has taken <see cref="MostRequests"/>, and the service has not ended it.</summary>
    public bool TookMostInVain
    {
        get
        {
            lock (_gate)
            {
                return _isFull && !_leftAfterRequests;
            }
        }
    }

    /// <summary>Called when there is a place for a request, and when the connection takes no more of them.</summary>
    public Action? Changed { get; set; }

    /// <summary>What the service's first bytes were.</summary>
    public Task<Http2Start> Started => _started.Task;

    /// <summary>Completed when the service has allowed a request, or the connection is over.</summary>
    public Task Allows => _allows.Task;

    /// <summary>Whether the service takes WebSockets (RFC 8441).</summary>
    public bool AllowsConnect
    {
        get
        {
            lock (_gate)
            {
                return _peer.AllowsConnectProtocol;
            }
        }
    }

    /// <summary>How many requests are under way, or have a place.</summary>
    public int Taken
    {
        get
        {
            lock (_gate)
            {
                return _taken;
            }
        }
    }

    /// <summary>Whether it has had no request since a timestamp of its clock.</summary>
    public bool IsIdleSince(long timestamp)
    {
        lock (_gate)
        {
            return _taken == 0 && _idleSince <= timestamp;
        }
    }

    /// <summary>Whether the service has ended it, or said that it will, before it took a request.</summary>
    public bool HasServedNothing
    {
        get
        {
            lock (_gate)
            {
                return _isRetired && !_hasGivenWay && _taken == 0 && _nextId == 1;
            }
        }
    }

    /// <summary>Whether the service has said goodbye to it (GOAWAY) after it had taken requests.</summary>
    public bool LeftAfterRequests
    {
        get
        {
            lock (_gate)
            {
                return _leftAfterRequests;
            }
        }
    }

    /// <summary>Whether the service allows no request on it, and there is none.</summary>
    public bool AllowsNone
    {
        get
        {
            lock (_gate)
            {
                return !_isRetired && AllowsNoneUnsynchronized();
            }
        }
    }

    /// <summary>Whether it takes no request any more, has none, and is about to close.</summary>
    public bool IsLeaving
    {
        get
        {
            lock (_gate)
            {
                return _isRetired && _taken == 0;
            }
        }
    }

    /// <summary>Whether it is closed for good.</summary>
    public bool IsClosed { get; private set; }

    /// <summary>Takes a place for a request, if there is one.</summary>
    public bool TryReserve()
    {
        lock (_gate)
        {
            // A connection with a long queue has requests, and wakes those that wait for a place when one of them is over.
            if (!_hasStarted
                || _isRetired
                || _taken >= Math.Min(_peer.MaxConcurrentStreams, MaxStreams)
                || (_nextId / 2) + _taken - _streams.Count >= MostRequests
                || (_taken > 0 && _queued >= QueuedHeads))
            {
                return false;
            }

            _taken++;
            return true;
        }
    }

    /// <summary>Gives back a place that was not used.</summary>
    public void Unreserve()
    {
        lock (_gate)
        {
            _taken--;
            _idleSince = _time.GetTimestamp();
        }

        AfterRelease();
    }

    /// <summary>Opens a stream at a place that was taken.</summary>
    /// <param name="head">The compressed header block.</param>
    /// <param name="ends">Whether the request ends with it.</param>
    /// <param name="isHead">Whether the method is HEAD.</param>
    /// <returns>Null when the connection takes no more requests; the place is the caller's still.</returns>
    public Http2Stream? TryOpen(ReadOnlySpan<byte> head, bool ends, bool isHead)
    {
        lock (_gate)
        {
            if (_isRetired)
            {
                return null;
            }

            var id = _nextId;
            _nextId += 2;
            _isFull = _nextId / 2 >= MostRequests;
            _isRetired |= _isFull || _nextId > LastId;
            var stream = _pool.TryPop(out var pooled) ? pooled : new Http2Stream(this, _buffers, _inline);
            stream.Begin(id, _peer.InitialWindowSize, isHead, ends);
            ForgetResetUnsynchronized(id);
            _streams.Add(id, stream);
            AppendBlockUnsynchronized(id, head, ends);
            return stream;
        }
    }

    /// <summary>Takes no new requests, and closes when the last one is over.</summary>
    public void Retire()
    {
        lock (_gate)
        {
            _isRetired = true;
        }

        AfterRelease();
    }

    /// <summary>The same, if the service allows no request on it, and there is none.</summary>
    public void RetireUnlessAllowed()
    {
        lock (_gate)
        {
            _isRetired |= AllowsNoneUnsynchronized();
        }

        AfterRelease();
    }

    /// <summary>Closes at once, if it has no request: another connection needs its place.</summary>
    /// <returns>Whether it had none.</returns>
    public bool TryGiveWay()
    {
        lock (_gate)
        {
            if (!_hasStarted || _isRetired || _taken > 0)
            {
                return false;
            }

            _isRetired = true;
            _hasGivenWay = true;
        }

        AfterRelease();
        return true;
    }

    /// <summary>See <see cref="Http2Stream.Release"/>.</summary>
    public void Release(Http2Stream stream)
    {
        lock (_gate)
        {
            if (!(stream.LocalEnded && stream.RemoteEnded) && !stream.IsReset && !_isEnded)
            {
                AppendResetUnsynchronized(stream, Http2ErrorCode.Cancel);
            }

            _streams.Remove(stream.Id);
            stream.Forget();
            stream.Inbox.Clear();
            if (stream.Grown > 0)
            {
                _windows.Return(stream.Grown);
            }

            _taken--;
            _idleSince = _time.GetTimestamp();
            if (_pool.Count < MaxStreams && !_isRetired)
            {
                _pool.Push(stream);
            }
        }

        AfterRelease();
    }

    /// <summary>See <see cref="Http2Stream.Cancel"/>.</summary>
    public void Cancel(Http2Stream stream, int id, Http2ErrorCode code)
    {
        bool reads, writes;
        lock (_gate)
        {
            if (stream.Id != id || id == 0)
            {
                return;
            }

            if (!(stream.LocalEnded && stream.RemoteEnded) && !stream.IsReset && !_isEnded)
            {
                AppendResetUnsynchronized(stream, code);
            }

            FailUnsynchronized(stream, new Http2Failure(Http2FailureKind.Cancelled), out reads, out writes);
        }

        Complete(stream, reads, writes);
    }

    /// <summary>See <see cref="Http2Stream.WaitToReadAsync"/>.</summary>
    public ValueTask WaitToReadAsync(Http2Stream stream)
    {
        lock (_gate)
        {
            return stream.Inbox.Count > 0 || stream.RemoteEnded || !stream.Failure.IsNone ? default : stream.Readable.Wait();
        }
    }

    /// <summary>See <see cref="Http2Stream.TryRead"/>.</summary>
    public bool TryRead(Http2Stream stream, out Http2Item item)
    {
        lock (_gate)
        {
            if (stream.Failure.Kind != Http2FailureKind.Cancelled && stream.Inbox.TryPeek(out var kind, out var memory))
            {
                item = new Http2Item(kind, memory, stream.RemoteEnded && stream.Inbox.Count == 1);
                return true;
            }

            var end = !stream.Failure.IsNone ? Http2ItemKind.Failed : stream.RemoteEnded ? Http2ItemKind.End : Http2ItemKind.None;
            item = new Http2Item(end, default, true);
            return end != Http2ItemKind.None;
        }
    }

    /// <summary>See <see cref="Http2Stream.ConsumeBlock"/>.</summary>
    public void ConsumeBlock(Http2Stream stream)
    {
        lock (_gate)
        {
            stream.Inbox.ConsumeBlock();
        }
    }

    /// <summary>See <see cref="Http2Stream.ConsumeData"/>.</summary>
    public void ConsumeData(Http2Stream stream, int count, bool mayGrow)
    {
        lock (_gate)
        {
            stream.Inbox.ConsumeData(count);
            stream.Returnable += count;
            GrantUnsynchronized(stream, mayGrow);
        }
    }

    /// <summary>The stream fails, unless it has failed or ended already; its waits are taken.</summary>
    private static void FailUnsynchronized(Http2Stream stream, Http2Failure failure, out bool reads, out bool writes)
    {
        if (stream.Failure.IsNone && (!stream.RemoteEnded || failure.Kind == Http2FailureKind.Cancelled))
        {
            stream.Failure = failure;
        }

        stream.IsReset = true;
        reads = stream.Readable.TryTake();
        writes = stream.Writable.TryTake();
    }

    private static void Complete(Http2Stream stream, bool reads, bool writes)
    {
        if (reads)
        {
            stream.Readable.Complete();
        }

        if (writes)
        {
            stream.Writable.Complete();
        }
    }

    private void GrantUnsynchronized(Http2Stream stream, bool mayGrow)
    {
        if (!stream.CanReceive || stream.Returnable < stream.WindowSize / 2)
        {
            return;
        }

        var increment = stream.Returnable;
        stream.Returnable = 0;
        if (mayGrow && stream.WindowSize < MaxWindow && _windows.TryTake(stream.WindowSize))
        {
            increment += stream.WindowSize;
            stream.Grown += stream.WindowSize;
            stream.WindowSize *= 2;
        }

        stream.ReceiveWindow += increment;
        Http2Frames.WriteWindowUpdate(ReserveUnsynchronized(Http2Frames.ShortLength), stream.Id, increment);
    }

    private bool AllowsNoneUnsynchronized() => _hasStarted && _taken == 0 && _peer.MaxConcurrentStreams == 0;

    private void AfterRelease()
    {
        bool closes;
        lock (_gate)
        {
            closes = _isRetired && _taken == 0 && !_isEnded;
        }

        if (closes)
        {
            End(Http2ErrorCode.NoError, Http2FailureKind.ConnectionLost);
        }

        Changed?.Invoke();
    }
}
