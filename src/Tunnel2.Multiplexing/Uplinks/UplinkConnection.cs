using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Windows;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// One connection of a session after its handshake: a reader, a writer, the streams they serve, and the one reason for which they end.
/// Thread-safe.
/// </summary>
internal sealed class UplinkConnection
{
    /// <summary>How long a last GOAWAY, and the end that the peer sends, may take.</summary>
    private static readonly TimeSpan _farewell = TimeSpan.FromSeconds(1);

    private readonly IUplinkTransport _transport;
    private readonly UplinkReader _reader;
    private readonly Action<TunnelStream>? _onStream;
    private readonly Action<UplinkConnection, GoAwayPhase>? _onGoAway;
    private readonly UplinkLiveness _liveness;
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
    /// <param name="onGoAway">Called when a GOAWAY has come.</param>
    public UplinkConnection(
        IUplinkTransport transport, UplinkSettings settings, Action<TunnelStream>? onStream = null,
        Action<UplinkConnection, GoAwayPhase>? onGoAway = null)
    {
        _transport = transport;
        Streams = new UplinkStreams(
            transport.Home is { } home && home != settings.WriterScheduler ? settings with { WriterScheduler = home } : settings);
        _onStream = onStream;
        _onGoAway = onGoAway;
        _ended = new TaskCompletionSource(
            settings.InlineContinuations ? TaskCreationOptions.None : TaskCreationOptions.RunContinuationsAsynchronously);
        Writer = new UplinkWriter(this, transport);
        _reader = new UplinkReader(this, transport);
        _liveness = new UplinkLiveness(Streams, Writer, _reader);
    }

    public UplinkSettings Settings => Streams.Settings;

    public UplinkWriter Writer { get; }

    /// <summary>Its streams, and what they share.</summary>
    public UplinkStreams Streams { get; }

    /// <summary>What waits to be sent.</summary>
    public SendQueue Sending => Streams.Sending;

    public UplinkStatistics Statistics { get; } = new();

    /// <summary>Which of its session's uplinks this is.</summary>
    public int Slot => Streams.Slot;

    /// <summary>
    /// Called by the heartbeat, about four times a second, for as long as the uplink is stalled. Set before the heartbeat knows the uplink.
    /// </summary>
    public Action<UplinkConnection>? StallObserver { get; set; }

    /// <summary>
    /// Called once, with the first cause, on the thread that found it and before the uplink's last GOAWAY has left. Set before the uplink
    /// runs.
    /// </summary>
    public Action<UplinkEnd>? EndObserver { get; set; }

    /// <summary>
    /// ProxyEntry: called by the reader with each statement of the agent about its service, and its number. Set before the uplink runs. It
    /// must not block.
    /// </summary>
    public Action<ServiceState, uint>? ServiceObserver { get; set; }

    /// <summary>
    /// The agent: called by the reader with each list of other nodes, and its number. Set before the uplink runs. It must not block.
    /// </summary>
    public Action<uint, NodeAnnouncement>? NodesObserver { get; set; }

    /// <summary>Segments that the connection had to send again so far; 0 where the transport does not know.</summary>
    public long RetransmittedSegments => _transport.RetransmittedSegments;

    public RoundTripEstimator RoundTrip => Streams.RoundTrip;

    /// <summary>What the windows of this uplink's streams may grow by.</summary>
    public WindowBudget WindowGrowth => Streams.WindowGrowth;

    /// <summary>The peer's address, for people.</summary>
    public string RemoteName => _transport.RemoteName;

    /// <summary>Why it ended, or null while it lives.</summary>
    public UplinkEnd? End => Volatile.Read(ref _end);

    /// <summary>Whether new streams may be opened here.</summary>
    public bool IsOpenForStreams => End is null && !_peerDraining && !_refusing;

    public int OpenStreams => Streams.Table.Count;

    /// <summary>Whether this side has asked the peer to go elsewhere.</summary>
    public bool HasSaidGoodbye => Sending.Control.HasGoAway;

    /// <summary>
    /// Whether bytes are under way and nothing says that they arrive: a send or a PING has waited for longer than
    /// <see cref="UplinkSettings.StallAfter"/>. It may recover; it is dead only after <see cref="UplinkSettings.DeadAfter"/>.
    /// </summary>
    /// <param name="now">A timestamp of the settings' time provider.</param>
    public bool IsStalled(long now) => _liveness.IsStalled(now);

    /// <summary>The reason in the peer's GOAWAY; None before there was one.</summary>
    public SessionEndReason PeerGoAwayReason { get; private set; }

    /// <summary>Bytes granted to the peer that are neither held here nor granted now: for tests of conservation.</summary>
    internal (int Granted, int Held, int Returnable, int Size) ReceiveCredit => Streams.ReceiveCredit.Window;

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
            // A last GOAWAY may still be on its way. A peer that does not read it does not hold up this side.
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
    /// Ends the uplink; the first cause wins. A last GOAWAY gives the peer a cause that it cannot know. Every stream fails.
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
            Sending.Complete();
            _transport.Abort();
        }
        else
        {
            var text = end.Text.Length > 0 || end.Error == ProtocolError.None ? end.Text : end.Error.ToString();
            Sending.Control.AddGoAway(GoAwayPhase.Final, end.Reason, text);
            Writer.CloseAfterControl();
        }

        LostStreams.Report(Streams.Table.Snapshot(), end.Reason, Settings.WriterScheduler);
        EndObserver?.Invoke(end);
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

        var stream = Streams.Pool.Rent();
        if (!Streams.Table.TryOpen(stream))
        {
            Streams.Pool.Return(stream);
            return null;
        }

        if (End is { } end)
        {
            // The uplink ended between the check and the opening: this stream is not among those that learn of it.
            stream.OnUplinkLost(end.Reason);
            stream.Release();
            return null;
        }

        return stream;
    }

    /// <summary>The first step of a drain: asks the peer to open no more, or to expect no more.</summary>
    public void SendGoAwayNotice(SessionEndReason reason, string text) => Sending.Control.AddGoAway(GoAwayPhase.Notice, reason, text);

    /// <summary>The agent: says how its service is.</summary>
    public void SendService(ServiceState state, uint counter) => Sending.Control.AddService(state, counter);

    /// <summary>ProxyEntry: says which other nodes there are now. Of several lists that wait, the last one leaves.</summary>
    /// <param name="frame">A whole NODES frame. It does not change any more.</param>
    /// <param name="counter">Its number.</param>
    public void SendNodes(byte[] frame, uint counter) => Sending.Control.AddNodes(frame, counter);

    /// <summary>
    /// ProxyEntry: opens no more streams here, sends the agent a notice, and ends the uplink when its last stream is over. Only the side
    /// that opens streams knows when that is: nothing can cross the end. The peer's own notice has the same effect.
    /// </summary>
    public void Drain(SessionEndReason reason, string text)
    {
        _refusing = true;
        SendGoAwayNotice(reason, text);
        EndWhenDrained(new UplinkEnd(reason, Text: text));
    }

    /// <summary>The second step of a drain: from now on new streams are refused.</summary>
    public void RefuseNewStreams() => _refusing = true;

    /// <summary>Takes back the streams of which nothing has been sent: each fails as lost, and may be tried elsewhere.</summary>
    public void WithdrawUnsent()
    {
        foreach (var stream in Streams.Table.Snapshot())
        {
            stream.Withdraw(SessionEndReason.WriteStalled);
        }
    }

    /// <summary>
    /// Called a few times a second: asks a silent peer for a sign of life, reports a stall, ends an uplink whose peer is dead.
    /// </summary>
    public void OnHeartbeat()
    {
        var time = Settings.TimeProvider;
        var now = time.GetTimestamp();
        if (End is not null)
        {
            return;
        }

        // At the next heartbeat it would be longer than the limit.
        if (time.GetElapsedTime(_reader.LastInbound, now) > Settings.DeadAfter - UplinkLiveness.HeartbeatPeriod)
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
                Streams.Pool.Trim();
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

    /// <summary>
    /// Measures the round trip again until the first few answers have come: right from the start, one after the other. A quiet path shows
    /// how short it is, and a busy one how long its queues are. Never under a lock.
    /// </summary>
    internal void LearnPath()
    {
        if (Settings.GrowsWindows && End is null && RoundTrip.IsStarting)
        {
            Streams.ProbeRoundTrip(Settings.TimeProvider.GetTimestamp());
        }
    }

    /// <summary>The agent's reader: ProxyEntry opened a stream.</summary>
    internal ProtocolError Accept(
        StreamId id, ReadOnlySpan<byte> blockBytes, scoped in HeaderBlock block, ReadOnlySpan<byte> body, bool end)
    {
        var stream = Streams.Pool.Rent();
        Streams.Table.Accept(id, stream);
        var error = stream.OnHeaders(blockBytes, block, body, end);
        if (error != ProtocolError.None)
        {
            return error;
        }

        if (End is { } uplinkEnd)
        {
            // The uplink ended while the frame was read: this stream is not among those that learn of it.
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

        if (!Settings.IsNodeLink && !stream.TryCountHead(blockBytes.Length))
        {
            stream.Reset(StreamResetReason.Refused, StreamResetDetail.TooManyStreams);
            stream.Release();
            return ProtocolError.None;
        }

        if (Settings.InlineContinuations)
        {
            Start(stream);
        }
        else
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                static work => work.Uplink.Start(work.Stream), (Uplink: this, Stream: stream), preferLocal: false);
        }

        return ProtocolError.None;
    }

    internal void OnService(ServiceState state, uint counter) => ServiceObserver?.Invoke(state, counter);

    internal void OnGoAway(GoAwayPhase phase, SessionEndReason reason, string text)
    {
        _peerFinished |= phase == GoAwayPhase.Final;
        PeerGoAwayReason = reason;
        if (reason == SessionEndReason.HandOver && Settings.Role == UplinkRole.Entry && !_peerFinished)
        {
            // It continues to serve, also where its notice had stopped new streams.
            _peerDraining = false;
            if (!_refusing)
            {
                Streams.SlotFreed = null;
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
            EndWhenDrained(new UplinkEnd(SessionEndReason.Shutdown, Text: "All is done."));
        }
    }

    private void EndWhenDrained(UplinkEnd end)
    {
        Interlocked.CompareExchange(ref _whenDrained, end, null);
        Streams.SlotFreed = EndIfDrained;
        EndIfDrained();
    }

    private void EndIfDrained()
    {
        if (_whenDrained is { } end && Streams.Table.TryCloseEmpty())
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
