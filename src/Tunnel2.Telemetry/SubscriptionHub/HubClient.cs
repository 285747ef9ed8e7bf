using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// One connection of the hub: a bounded queue of frames, and the socket. Publishers add frames; the hub's sender removes and sends them
/// without waiting. Safe on any thread.
/// </summary>
internal sealed class HubClient : Subscriber, IDisposable
{
    private const int MostStrikes = 3;
    private const int FarewellMilliseconds = 2000;

    private static readonly byte[] _pausedFrame = WebSocketFrame.FromText("{\"type\":\"paused\"}"u8);
    private static readonly byte[] _resumedFrame = WebSocketFrame.FromText("{\"type\":\"resumed\"}"u8);

    private readonly Lock _queueGate = new();
    private readonly Hub _hub;
    private readonly IHubSink _sink;
    private FrameQueue _frames;
    private long _dropped;
    private int _strikes;
    private long _calmSince;
    private long _blockedSince;
    private long _heard;
    private long _pinged;
    private bool _isListed;
    private bool _isPaused;
    private bool _maySend;
    private bool _closing;
    private bool _closed;
    private bool _aborted;
    private bool _isCut;
    private long _ended;
    private HashSet<HubChannel>? _pending;
    private TaskCompletionSource? _room;
    private double _inboundTokens;
    private long _inboundAt;

    internal HubClient(Hub hub, IHubSink sink, bool isNode = false)
    {
        _hub = hub;
        _sink = sink;
        IsNode = isNode;
        _heard = hub.Now;
        _inboundTokens = hub.Limits.InboundBurst;
        _inboundAt = _heard;
    }

    /// <summary>Whether it is another node of the cluster, which passes on what it gets, and no viewer.</summary>
    internal bool IsNode { get; }

    /// <summary>Whether the connection is over, or will be at once.</summary>
    internal bool IsClosed => Volatile.Read(ref _closed);

    /// <summary>Whether the client was sent a close message; its later messages are ignored.</summary>
    internal bool IsClosing => Volatile.Read(ref _closing);

    /// <summary>How many frames wait for the client, or were dropped since its queue was full; 0 when the connection ends.</summary>
    internal long Backlog
    {
        get
        {
            lock (_queueGate)
            {
                return _closing ? 0 : _frames.Count + _dropped;
            }
        }
    }

    /// <summary>Frames dropped for this client so far.</summary>
    internal long TotalDropped { get; private set; }

    /// <summary>
    /// A frame came from the client: it lives, and it has seen our side of the handshake, which the server's own connection sent. Before
    /// that nothing is sent on the socket.
    /// </summary>
    internal void OnHeard()
    {
        Volatile.Write(ref _heard, _hub.Now);
        if (!_maySend)
        {
            lock (_queueGate)
            {
                _maySend = true;
                ListUnsynchronized();
            }
        }
    }

    /// <summary>Whether one more message of the client is within its rate. For its reader alone.</summary>
    internal bool TryTakeInbound()
    {
        long now = _hub.Now;
        _inboundTokens = Math.Min(_hub.Limits.InboundBurst, _inboundTokens + ((now - _inboundAt) / 1000.0 * _hub.Limits.InboundRate));
        _inboundAt = now;
        if (_inboundTokens < 1)
        {
            return false;
        }

        _inboundTokens--;
        return true;
    }

    /// <summary>Adds a frame, or counts it as dropped if there is no room.</summary>
    /// <param name="frame">A whole frame; shared, so it must never change.</param>
    /// <param name="channel">
    /// The channel of a message, or null. If this client is paused or has not got the channel's snapshot yet, the message is left out,
    /// because the next snapshot will contain it.
    /// </param>
    internal bool Enqueue(byte[] frame, HubChannel? channel = null)
    {
        lock (_queueGate)
        {
            bool waitsForSnapshot = channel is not null && (_isPaused || (_pending is not null && _pending.Contains(channel)));
            if (_closing || waitsForSnapshot)
            {
                return false;
            }

            if (_frames.Count >= _hub.Limits.QueueFrames || _dropped > 0)
            {
                DropUnsynchronized();
                return false;
            }

            _frames.Append(frame);
            ListUnsynchronized();
            return true;
        }
    }

    /// <summary>From now on messages of these channels wait for their snapshots.</summary>
    internal void OweSnapshots(List<HubChannel> channels)
    {
        lock (_queueGate)
        {
            (_pending ??= []).UnionWith(channels);
        }
    }

    /// <summary>
    /// Ends the wait for a channel's snapshot. With the store's lock held, so that the channel's next message follows it.
    /// </summary>
    /// <param name="channel">The channel.</param>
    /// <param name="snapshot">The snapshot, or null when the channel was removed before.</param>
    internal void EndWait(HubChannel channel, byte[]? snapshot)
    {
        lock (_queueGate)
        {
            if (_pending is not null && _pending.Remove(channel) && _pending.Count == 0)
            {
                _pending = null;
            }
        }

        if (snapshot is not null)
        {
            Enqueue(snapshot);
        }
    }

    /// <summary>
    /// From now on messages are left out, and the client gets a notice of it after the frames that wait. Answers and snapshots continue.
    /// </summary>
    /// <returns>False when it is paused already, or its connection ends.</returns>
    internal bool TryPause()
    {
        lock (_queueGate)
        {
            if (_isPaused || _closing)
            {
                return false;
            }

            // Above the limit of the queue if need be, by two frames: the client has to know why nothing more comes.
            _isPaused = true;
            AppendGapUnsynchronized();
            _frames.Append(_pausedFrame);
            _calmSince = 0;
            ListUnsynchronized();
            return true;
        }
    }

    /// <summary>Ends the pause: messages of these channels follow their snapshots. With the gate of the channels held.</summary>
    internal void Resume(List<HubChannel> channels)
    {
        OweSnapshots(channels);
        lock (_queueGate)
        {
            _isPaused = false;
        }

        Enqueue(_resumedFrame);
    }

    /// <summary>
    /// Completes when at least half of the queue is free: code that makes many frames for this client alone waits for it.
    /// </summary>
    internal Task WaitForRoomAsync()
    {
        lock (_queueGate)
        {
            if (_closed || (_frames.Count <= _hub.Limits.QueueFrames / 2 && _dropped == 0))
            {
                return Task.CompletedTask;
            }

            return (_room ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
        }
    }

    /// <summary>Sends the reason, after the frames before it, and then ends the connection.</summary>
    internal void Close(ushort status, string reason)
    {
        lock (_queueGate)
        {
            CloseUnsynchronized(status, reason);
        }
    }

    /// <summary>Ends the connection at once.</summary>
    internal void Abort()
    {
        TaskCompletionSource? room;
        lock (_queueGate)
        {
            if (_aborted)
            {
                return;
            }

            _aborted = true;
            _closed = true;
            _closing = true;
            _frames = default;
            room = _room;
            _room = null;
        }

        room?.TrySetResult();
        try
        {
            // The server's own connection owns the socket: it sees the end of input and disposes of the socket.
            _sink.Shutdown(SocketShutdown.Both);
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // It has already gone.
        }
    }

    public void Dispose() => Abort();

    /// <summary>For the sender alone: sends as many bytes as the socket takes.</summary>
    /// <param name="scratch">Memory in which small frames are joined.</param>
    /// <returns>False when the socket is full; the sender tries again later.</returns>
    internal bool TrySend(byte[] scratch)
    {
        while (true)
        {
            int length;
            byte[] source;
            int offset;
            lock (_queueGate)
            {
                if (_closed || _frames.Count == 0 || !_maySend)
                {
                    _isListed = false;
                    return true;
                }

                (source, offset, length) = _frames.Gather(scratch);
            }

            int sent = _sink.Send(source, offset, length, out SocketError error);
            if (error == SocketError.WouldBlock || (error == SocketError.Success && sent == 0))
            {
                lock (_queueGate)
                {
                    _frames.NothingIsUnderWay();
                }

                _blockedSince = _blockedSince == 0 ? _hub.Now : _blockedSince;
                return false;
            }

            if (error != SocketError.Success)
            {
                Abort();
                return true;
            }

            _blockedSince = 0;
            _hub.Metrics.Sent(sent);
            bool ended;
            TaskCompletionSource? room;
            lock (_queueGate)
            {
                (ended, room) = AdvanceUnsynchronized(sent);
            }

            room?.TrySetResult();
            if (ended)
            {
                End();
                return true;
            }

            if (sent < length)
            {
                _blockedSince = _hub.Now;
                return false;
            }
        }
    }

    /// <summary>For the sender alone, a few times a second: pings, and the limits on silence and on sockets that take no bytes.</summary>
    internal void Look(long now)
    {
        HubLimits limits = _hub.Limits;
        if (_ended != 0)
        {
            if (now - _ended > FarewellMilliseconds)
            {
                Abort();
            }

            return;
        }

        long silence = now - Volatile.Read(ref _heard);
        if (silence > limits.SilenceLimit.TotalMilliseconds)
        {
            CountCut("silent");
            Abort();
        }
        else if (_blockedSince != 0 && now - _blockedSince > limits.WriteLimit.TotalMilliseconds)
        {
            CountCut("blocked");
            Abort();
        }
        else if (silence > limits.PingAfter.TotalMilliseconds && now - _pinged > limits.PingAfter.TotalMilliseconds)
        {
            _pinged = now;
            _maySend = true;
            Enqueue(Hub.PingFrame);
        }
    }

    /// <summary>
    /// The close frame was sent. For a moment the client's bytes are read and dropped, because a close with unread bytes is a reset, which
    /// could overtake the close frame.
    /// </summary>
    private void End()
    {
        lock (_queueGate)
        {
            _closed = true;
            _ended = _hub.Now;
        }

        try
        {
            _sink.Shutdown(SocketShutdown.Send);
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // It has already gone.
        }
    }

    private (bool Ended, TaskCompletionSource? Room) AdvanceUnsynchronized(int sent)
    {
        if (_aborted)
        {
            return (false, null);
        }

        _frames.Advance(sent);
        if (_dropped > 0 && _frames.Count <= _hub.Limits.QueueFrames / 2)
        {
            AppendGapUnsynchronized();
            _calmSince = _hub.Now;
        }

        TaskCompletionSource? room = null;
        if (_frames.Count <= _hub.Limits.QueueFrames / 2 && _room is not null)
        {
            room = _room;
            _room = null;
        }

        _frames.ReleaseIfEmpty();
        return (_closing && _frames.Count == 0, room);
    }

    /// <summary>The gap is at the place of the dropped frames, before the next frame.</summary>
    private void AppendGapUnsynchronized()
    {
        if (_dropped > 0)
        {
            _frames.Append(WebSocketFrame.FromText(Encoding.ASCII.GetBytes(
                string.Create(CultureInfo.InvariantCulture, $"{{\"type\":\"gap\",\"dropped\":{_dropped}}}"))));
            _dropped = 0;
        }
    }

    private void DropUnsynchronized()
    {
        TotalDropped++;
        _hub.Metrics.Dropped();
        if (_dropped++ > 0)
        {
            return;
        }

        _strikes = _calmSince != 0 && _hub.Now - _calmSince < _hub.Limits.StrikeWindow.TotalMilliseconds ? _strikes + 1 : 1;
        if (_strikes == MostStrikes)
        {
            CountCut("slow");
            CloseUnsynchronized(1008, "too slow");
        }
    }

    /// <summary>
    /// A subscriber that is cut off for one reason may reach another limit before it is gone: it does not read its close frame either.
    /// </summary>
    private void CountCut(string reason)
    {
        if (!Interlocked.Exchange(ref _isCut, true))
        {
            _hub.Metrics.Cut(reason);
        }
    }

    private void CloseUnsynchronized(ushort status, string reason)
    {
        if (_closing)
        {
            return;
        }

        // Waiting frames are dropped; the one that is being sent must be completed.
        _frames.DropWaiting();
        _frames.Append(WebSocketFrame.CloseWith(status, reason));
        _closing = true;
        _maySend = true;
        ListUnsynchronized();
    }

    private void ListUnsynchronized()
    {
        if (!_isListed && _maySend && _frames.Count > 0)
        {
            _isListed = true;
            _hub.Sender.Add(this);
        }
    }
}
