using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// One connection of a session after its handshake: a reader, a writer, the streams they serve, and the one reason for which they end.
/// Thread-safe.
/// </summary>
internal sealed class UplinkConnection
{
    /// <summary>How long the last words (a GOAWAY) and the peer's leaving may take.</summary>
    private static readonly TimeSpan _farewell = TimeSpan.FromSeconds(1);

    private readonly IUplinkTransport _transport;
    private readonly UplinkReader _reader;
    private readonly Action<TunnelStream>? _onStream;
    private readonly Action<UplinkConnection, GoAwayPhase>? _onGoAway;
    private readonly UplinkLiveness _liveness;
    private readonly StreamPool _pool;
    private readonly UplinkReceiveCredit _receiveCredit;
    private readonly TaskCompletionSource _ended;
    private UplinkEnd? _end;
    private volatile bool _refusing;
    private volatile bool _peerDraining;
    private volatile bool _peerFinished;
    private volatile UplinkEnd? _whenDrained;

    /// <summary>Makes an uplink; <see cref="RunAsync"/> starts it.</summary>
    /// <param name="transport">The connection, after its handshake. The uplink disposes of it.</param>
    /// <param name="settings">What the handshake settled.</param>
    /// <param name="onStream">
    /// The agent: called by the reader with each new stream, whose request head can be read at once. It must not block; with inline
    /// continuations it runs on the reader's thread, and an exception it throws is contained and resets the stream.
    /// </param>
    /// <param name="onGoAway">Called when the peer says GOAWAY.</param>
    public UplinkConnection(
        IUplinkTransport transport, UplinkSettings settings, Action<TunnelStream>? onStream = null,
        Action<UplinkConnection, GoAwayPhase>? onGoAway = null)
    {
        _transport = transport;
        _pool = new StreamPool(this);
        Settings = transport.Home is { } home && home != settings.WriterScheduler ? settings with { WriterScheduler = home } : settings;
        _onStream = onStream;
        _onGoAway = onGoAway;
        _ended = new TaskCompletionSource(
            settings.InlineContinuations ? TaskCreationOptions.None : TaskCreationOptions.RunContinuationsAsynchronously);
        Streams = new StreamTable(settings.MaxStreams);
        RoundTrip = new RoundTripEstimator(settings.TimeProvider);

        // However slow the readers of grown windows are, half of the uplink's credit is left for the others.
        WindowGrowth = new WindowBudget(settings.ReceiveUplinkWindow / 2, settings.ProcessWindowBudget);
        _receiveCredit = new UplinkReceiveCredit(this, settings);
        Writer = new UplinkWriter(this, transport);
        _reader = new UplinkReader(this, transport);
        _liveness = new UplinkLiveness(settings, Writer, _reader, RoundTrip);
    }

    public UplinkSettings Settings { get; }

    public UplinkWriter Writer { get; }

    public StreamTable Streams { get; }

    public UplinkStatistics Statistics { get; } = new();

    /// <summary>
    /// Which of its session's uplinks this is: the lowest number that was free when it came. 0 for one that is no session's.
    /// </summary>
    public int Slot { get; internal set; }

    /// <summary>
    /// Called by the heartbeat, about four times a second, for as long as the uplink is stalled. Set before the heartbeat knows the uplink.
    /// </summary>
    public Action<UplinkConnection>? StallObserver { get; set; }

    /// <summary>Segments that the connection had to send again so far; 0 where the transport cannot tell.</summary>
    public long RetransmittedSegments => _transport.RetransmittedSegments;
    public RoundTripEstimator RoundTrip { get; }

    /// <summary>What the windows of this uplink's streams may grow by.</summary>
    public WindowBudget WindowGrowth { get; }

    /// <summary>The peer's address, for people.</summary>
    public string RemoteName => _transport.RemoteName;

    /// <summary>Why it ended, or null while it lives.</summary>
    public UplinkEnd? End => Volatile.Read(ref _end);

    /// <summary>Whether new streams may be opened here.</summary>
    public bool IsOpenForStreams => End is null && !_peerDraining && !_refusing;

    public int OpenStreams => Streams.Count;

    /// <summary>
    /// Whether bytes are under way and nothing says that they arrive: a send or a PING has waited for longer than
    /// <see cref="UplinkSettings.StallAfter"/>. It may recover; it is dead only after <see cref="UplinkSettings.DeadAfter"/>.
    /// </summary>
    /// <param name="now">A timestamp of the settings' time provider.</param>
    public bool IsStalled(long now) => _liveness.IsStalled(now);

    /// <summary>The reason in the peer's GOAWAY; None before there was one.</summary>
    public SessionEndReason PeerGoAwayReason { get; private set; }

    /// <summary>Bytes granted to the peer that are neither held here nor granted now: for tests of conservation.</summary>
    internal (int Granted, int Held, int Returnable, int Size) ReceiveCredit => _receiveCredit.Window;

    /// <summary>Whether the uplink holds more than it may without the process's budget.</summary>
    internal bool HasReported => _receiveCredit.HasReported;

    /// <summary>Runs reader and writer until the uplink ends, and disposes of the transport.</summary>
    /// <param name="initial">Bytes that arrived after the handshake.</param>
    /// <returns>The first cause of the end.</returns>
    public async Task<UplinkEnd> RunAsync(ReadOnlyMemory<byte> initial = default)
    {
        var loops = Task.WhenAll(Writer.RunAsync(), _reader.RunAsync(initial));
        LearnPath();
        await _ended.Task.ConfigureAwait(false);
        try
        {
            // The last words may still be on their way; a peer that does not read them does not hold us up.
            await loops.WaitAsync(_farewell, Settings.TimeProvider).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            _transport.Abort();
            await loops.ConfigureAwait(false);
        }

        await _transport.DisposeAsync().ConfigureAwait(false);
        return End!;
    }

    /// <summary>
    /// Ends the uplink; the first cause wins. A cause that the peer cannot know is said to it in a last GOAWAY. Every stream fails.
    /// </summary>
    /// <returns>Whether this was the first cause.</returns>
    public bool TryEnd(UplinkEnd end)
    {
        if (Interlocked.CompareExchange(ref _end, end, null) is not null)
        {
            return false;
        }

        if (end.ByPeer
            || end.Reason is SessionEndReason.PeerClosed or SessionEndReason.TransportFailed or SessionEndReason.PeerSilent
                or SessionEndReason.WriteStalled)
        {
            Writer.Complete();
            _transport.Abort();
        }
        else
        {
            var text = end.Text.Length > 0 || end.Error == ProtocolError.None ? end.Text : end.Error.ToString();
            Writer.ScheduleGoAway(GoAwayPhase.Final, end.Reason, text);
            Writer.CloseBehindControl();
        }

        LostStreams.Tell(Streams.Snapshot(), end.Reason, Settings.WriterScheduler);
        _ended.TrySetResult();
        return true;
    }

    /// <summary>ProxyEntry: opens a stream. Its head is to be sent next.</summary>
    /// <returns>Null when the uplink takes no more streams.</returns>
    public TunnelStream? TryOpenStream()
    {
        if (!IsOpenForStreams)
        {
            return null;
        }

        var stream = _pool.Rent();
        if (!Streams.TryOpen(stream))
        {
            _pool.Return(stream);
            return null;
        }

        if (End is { } end)
        {
            // The uplink ended between the look and the opening: nobody else would tell this stream.
            stream.OnUplinkLost(end.Reason);
            stream.Release();
            return null;
        }

        return stream;
    }

    /// <summary>The first step of a drain: asks the peer to open no more, or to expect no more.</summary>
    public void SendGoAwayNotice(SessionEndReason reason, string text) => Writer.ScheduleGoAway(GoAwayPhase.Notice, reason, text);

    /// <summary>
    /// ProxyEntry: opens no more streams here, tells the agent to expect no more, and ends the uplink when its last stream is over. Whoever
    /// opens knows best when that is: nothing can cross the end. The peer's own notice has the same effect.
    /// </summary>
    public void Drain(SessionEndReason reason, string text)
    {
        _refusing = true;
        SendGoAwayNotice(reason, text);
        Interlocked.CompareExchange(ref _whenDrained, new UplinkEnd(reason, Text: text), null);
        EndIfDrained();
    }

    /// <summary>The second step of a drain: from now on new streams are refused.</summary>
    public void RefuseNewStreams() => _refusing = true;

    /// <summary>Takes back the streams of which nothing has been sent: each fails as lost, and may be tried elsewhere.</summary>
    public void WithdrawUnsent()
    {
        foreach (var stream in Streams.Snapshot())
        {
            stream.Withdraw(SessionEndReason.WriteStalled);
        }
    }

    /// <summary>Called a few times a second: asks a silent peer for a sign of life, tells of a stall, gives up a dead peer.</summary>
    public void OnHeartbeat()
    {
        var time = Settings.TimeProvider;
        var now = time.GetTimestamp();
        if (End is not null)
        {
            return;
        }

        // By the next look it would be longer than the limit.
        if (time.GetElapsedTime(_reader.LastInbound, now) > Settings.DeadAfter - UplinkHeartbeat.Period)
        {
            TryEnd(new UplinkEnd(SessionEndReason.PeerSilent));
        }
        else if (Writer.IsStalled(now, Settings.SendStallLimit))
        {
            TryEnd(new UplinkEnd(SessionEndReason.WriteStalled));
        }
        else
        {
            if (_liveness.OnHeartbeat(now))
            {
                _pool.Trim();
            }
            else
            {
                LearnPath();
            }

            if (StallObserver is { } observer && _liveness.IsStalled(now))
            {
                observer(this);
            }
        }
    }

    /// <summary>Numbers for metrics.</summary>
    public UplinkSnapshot Snapshot() => new(
        Statistics.BytesReceived,
        Statistics.FramesReceived,
        Statistics.Receives,
        Statistics.BytesSent,
        Statistics.FramesSent,
        Statistics.Flushes,
        Streams.Opened,
        Streams.Count,
        Statistics.CreditWaits,
        Writer.StarvingStreams,
        Writer.OutstandingBytes,
        Statistics.SendingBytes,
        WindowGrowth.Taken,
        RoundTrip.Last,
        RoundTrip.Minimum);

    /// <summary>
    /// Whether the reader hands what one receive brought to the streams' readers. What these have the writer send then waits for the end of
    /// the round. Another thread may see it late; that costs a round.
    /// </summary>
    internal bool IsWakingReaders { get; set; }

    /// <summary>
    /// Measures the round trip again as long as the first few answers are missing: right from the start and one after the other, since a
    /// path tells how short it is while it is quiet. Under load it would tell how long its queues are. Not under a lock either.
    /// </summary>
    internal void LearnPath()
    {
        if (Settings.GrowsWindows && End is null && RoundTrip.IsStarting)
        {
            ProbeRoundTrip(Settings.TimeProvider.GetTimestamp());
        }
    }

    /// <summary>Measures the round trip if it is time to. Never under a lock: the write loop may run on this thread.</summary>
    internal void ProbeRoundTrip(long now)
    {
        if (RoundTrip.TryBegin(now, out var opaque))
        {
            Writer.SchedulePing(opaque);
        }
    }

    internal bool TryReceive(int count) => count == 0 || _receiveCredit.TryReceive(count);

    /// <summary>Bytes of some stream were consumed, or thrown away: the uplink's credit returns.</summary>
    internal void ReturnCredit(int count) => _receiveCredit.Return(count);

    /// <summary>A header block waits behind another one of its stream, or (negative) no longer does.</summary>
    internal void CountHead(int length) => _receiveCredit.CountHead(length);

    /// <summary>Grants more where streams that stand still hold the window.</summary>
    internal void BorrowIfLow() => _receiveCredit.BorrowIfLow();

    /// <summary>Finds the streams that hold bytes which nobody consumes.</summary>
    /// <param name="time">The budget's clock.</param>
    /// <param name="leastAge">How old the oldest byte of a stream has to be.</param>
    /// <param name="into">Where to.</param>
    /// <returns>How many streams hold anything, however young.</returns>
    internal int WeighStreams(TimeProvider time, TimeSpan leastAge, List<HeldStream> into) => _pool.Weigh(time, leastAge, into);

    internal void FreeSlot(StreamId id)
    {
        Streams.Free(id);
        CheckDrainLater();
    }

    /// <summary>A stream of which nothing was ever sent is over.</summary>
    internal void AbandonSlot(StreamId id)
    {
        Streams.Abandon(id);
        CheckDrainLater();
    }

    internal void Recycle(TunnelStream stream) => _pool.Return(stream);

    /// <summary>The agent's reader: ProxyEntry opened a stream.</summary>
    internal ProtocolError Accept(
        StreamId id, ReadOnlySpan<byte> blockBytes, scoped in HeaderBlock block, ReadOnlySpan<byte> body, bool end)
    {
        var stream = _pool.Rent();
        Streams.Accept(id, stream);
        var error = stream.OnHeaders(blockBytes, block, body, end);
        if (error != ProtocolError.None)
        {
            return error;
        }

        if (End is { } uplinkEnd)
        {
            // The uplink ended while the frame was read: nobody else would tell this stream.
            stream.OnUplinkLost(uplinkEnd.Reason);
            stream.Release();
            return ProtocolError.None;
        }

        if (_refusing || _onStream is null)
        {
            stream.Reset(StreamResetReason.Refused, StreamResetDetail.GoingAway);
            stream.Release();
            return ProtocolError.None;
        }

        if (Settings.InlineContinuations)
        {
            Start(stream);
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(static work => work.Uplink.Start(work), stream, preferLocal: false);
        }

        return ProtocolError.None;
    }

    internal void OnGoAway(GoAwayPhase phase, SessionEndReason reason, string text)
    {
        _peerFinished |= phase == GoAwayPhase.Final;
        PeerGoAwayReason = reason;
        if (reason == SessionEndReason.HandOver && Settings.Role == UplinkRole.Entry && !_peerFinished)
        {
            // It serves on, and again where its notice had made us stop.
            _peerDraining = false;
            if (!_refusing)
            {
                _whenDrained = null;
            }

            _onGoAway?.Invoke(this, phase);
            return;
        }

        _peerDraining = true;
        if (phase == GoAwayPhase.Final && reason != SessionEndReason.Shutdown)
        {
            TryEnd(new UplinkEnd(reason, ByPeer: true, Text: text));
        }

        _onGoAway?.Invoke(this, phase);
        if (Settings.Role == UplinkRole.Entry)
        {
            Interlocked.CompareExchange(ref _whenDrained, new UplinkEnd(SessionEndReason.Shutdown, Text: "All is done."), null);
            EndIfDrained();
        }
    }

    /// <summary>The caller holds a stream's lock, under which no uplink may end.</summary>
    private void CheckDrainLater()
    {
        if (_whenDrained is not null)
        {
            ThreadPool.UnsafeQueueUserWorkItem(static self => self.EndIfDrained(), this, preferLocal: false);
        }
    }

    private void EndIfDrained()
    {
        if (_whenDrained is { } end && Streams.TryCloseEmpty())
        {
            TryEnd(end);
        }
    }

    private void Start(TunnelStream stream)
    {
        try
        {
            _onStream!(stream);
        }
        catch (Exception)
        {
            stream.Reset(StreamResetReason.Internal);
            stream.Release();
        }
    }
}
