using System.Runtime.CompilerServices;
using Tunnel2.Inspection.Capture;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The forwarder's state of one running request: its stream, its phase, and when it last made progress. It serves one request at a time,
/// and is reused.
/// </summary>
internal sealed class ForwardedRequest
{
    /// <summary>About a second: a visitor's wait ends also if the thread that cuts is blocked.</summary>
    private const int MostSpins = 1_000;

    private readonly ShortLock _gate = new();
    private TunnelStream? _stream;
    private StreamId _id;
    private int _use;
    private ProxyError? _cutBy;
    private CoarseClock _clock;
    private long _lastProgress;
    private int _phase;
    private bool _bodyUnwanted;
    private ExchangeExtras? _extras;
    private RequestNote? _notes;
    private VisitorExchange? _cutWith;
    private bool _isCut;
    private int _cutter;
    private bool _waitsForBody;
    private PoolTries _tried;
    private NodeTries _nodesLeft;

    /// <summary>Neighbours in the watchdog's list; its lock guards them.</summary>
    public ForwardedRequest? Next { get; set; }

    /// <summary>Neighbours in the watchdog's list; its lock guards them.</summary>
    public ForwardedRequest? Previous { get; set; }

    /// <summary>The number of the watchdog's list that it is in.</summary>
    public int WatchedBy { get; set; }

    /// <summary>The times of the request's events.</summary>
    public RequestTimes Times { get; } = new();

    /// <summary>Milliseconds that an upgraded connection may be silent; null: the limit of bodies, after an end of one direction.</summary>
    public long? OwnIdleLimit { get; set; }

    /// <summary>Milliseconds that it may be silent after an end of one direction, where it has a limit of its own.</summary>
    public long HalfEndedLimit { get; set; } = long.MaxValue;

    /// <summary>The phase: what the request waits for decides which limit applies.</summary>
    public ForwardPhase Phase
    {
        get => (ForwardPhase)Volatile.Read(ref _phase);
        set => Volatile.Write(ref _phase, (int)value);
    }

    /// <summary>Body bytes received from the visitor.</summary>
    public long BytesReceived { get; set; }

    /// <summary>Body bytes sent to the visitor.</summary>
    public long BytesSent { get; set; }

    /// <summary>Bytes of the declared length that the response's body still lacks, or <see cref="ResponseFacts.NoLength"/>.</summary>
    public long ResponseLeft { get; set; }

    /// <summary>The maximum number of bytes that the request's body may have, by a policy.</summary>
    public long BodyLimit { get; set; }

    /// <summary>How many milliseconds the service may take to begin its answer, by a policy.</summary>
    public long HeadLimit { get; set; }

    /// <summary>The status of the response, or 0.</summary>
    public int Status { get; set; }

    /// <summary>The visitor's side; that of the last request until the next one begins.</summary>
    public VisitorExchange? Exchange { get; set; }

    /// <summary>The session that serves the request; null while none is known.</summary>
    public EntrySession? Session { get; set; }

    /// <summary>
    /// The owner whose session the request is for, after it waited for that session or was sent to it: no other owner may get it. Null
    /// while any may.
    /// </summary>
    public AgentIdentity? Owner { get; set; }

    /// <summary>Whether its stream leads to another node, which serves, counts and records it.</summary>
    public bool IsCarried { get; set; }

    /// <summary>The number of the registration at the node of the last of them.</summary>
    public long NodeEpoch { get; set; }

    /// <summary>What is known of the links to that node, for its name; null: it was passed to none.</summary>
    public CrossingLinks? CrossingLinks { get; set; }

    /// <summary>The node that it was last passed to, or should have been; null: none.</summary>
    public string? NodeId { get; set; }

    /// <summary>The other node at which it failed; null: none.</summary>
    public string? FailedAt { get; private set; }

    /// <summary>ProxyEntry itself fails it. From now on it is no longer carried.</summary>
    /// <returns>The leg, for the log, with the node that it was at: a visitor without HTTP gets no words.</returns>
    public string Fail(ProxyErrorInfo info)
    {
        Error = info.Error;
        FailedAt = IsCarried || info.Error == ProxyError.NodeUnreachable ? NodeId : null;
        IsCarried = false;
        return FailedAt is { } node ? $"{info.LegName} (node {node})" : info.LegName;
    }

    /// <summary>The registrations that their nodes do not have any more, or cannot serve now; a variable, as it is no copy.</summary>
    public ref NodeTries NodesLeft => ref _nodesLeft;

    /// <summary>Whether another node may have it if the present one does nothing with it.</summary>
    public bool HasOtherNodes { get; set; }

    /// <summary>Whether a session of this node gets it, because it was looked for a better one at other nodes.</summary>
    public bool StaysHere { get; set; }

    /// <summary>Whether no node has the domain that it is for: a wildcard may serve it.</summary>
    public bool IsDomainAsked { get; set; }

    /// <summary>Keeps what passes, where the session is inspected; otherwise null: all that the pumps ask.</summary>
    public ExchangeCapture? Capture { get; set; }

    /// <summary>The error with which ProxyEntry itself failed the request, or null.</summary>
    public ProxyError? Error { get; set; }

    /// <summary>
    /// The stream that carried the request; the default value when there was none. Read by the request's own code, and by the watchdog with
    /// its list locked.
    /// </summary>
    public StreamId StreamId => _id;

    /// <summary>The position of the stream's uplink in its session when the stream was opened; -1 when there was none.</summary>
    public int UplinkIndex { get; private set; } = -1;

    /// <summary>How the request gets from its visitor's event loop to its uplink's.</summary>
    public LoopPath LoopPath { get; set; }

    /// <summary>The turns for sending a 100 to a visitor that expects one; null otherwise.</summary>
    public ContinueTurn? Continue { get; set; }

    /// <summary>Whether code waits only for the visitor, whose connection is then cut together with the request.</summary>
    public bool WaitsForVisitor => Volatile.Read(ref _cutWith) is not null;

    /// <summary>Whether the visitor's body is waited for, and not the one who takes it.</summary>
    public bool WaitsForBody
    {
        get => Volatile.Read(ref _waitsForBody);
        set => Volatile.Write(ref _waitsForBody, value);
    }

    /// <summary>
    /// Whether the rest of the request's body is not wanted, because the exchange on its stream is over. Set before the pump is woken.
    /// </summary>
    public bool IsBodyUnwanted
    {
        get => Volatile.Read(ref _bodyUnwanted);
        set => Volatile.Write(ref _bodyUnwanted, value);
    }

    /// <summary>Whether bytes of the request's body were sent and not kept, so another stream cannot send them again.</summary>
    public bool IsBodyTaken { get; set; }

    /// <summary>Whether the visitor got its 100; it gets only one.</summary>
    public bool HasContinued { get; set; }

    /// <summary>The whole body, where it was held until its signature was right; null: it was not.</summary>
    public HeldBody? Held { get; set; }

    /// <summary>The beginning of the body, kept in case the stream is refused.</summary>
    public KeptBody Kept { get; } = new();

    /// <summary>The error for which ProxyEntry itself cut the request, or null.</summary>
    public ProxyError? CutBy
    {
        get
        {
            using (_gate.EnterScope())
            {
                return _cutBy;
            }
        }
    }

    /// <summary>Milliseconds since the last progress.</summary>
    /// <param name="now">The time of a <see cref="CoarseClock"/> of the clock that was given to <see cref="Begin"/>.</param>
    public long IdleMilliseconds(long now) => now - Volatile.Read(ref _lastProgress);

    /// <summary>The number of this use of the object. A decision about one request must not hit the next one.</summary>
    public int Use
    {
        get
        {
            using (_gate.EnterScope())
            {
                return _use;
            }
        }
    }

    /// <summary>The members of its name's pool that did nothing with it; a variable, so that it is not copied.</summary>
    public ref PoolTries Tried => ref _tried;

    /// <summary>Whether it was counted against its session's limit. It counts once, however often it is tried or waits.</summary>
    public bool IsCounted { get; set; }

    /// <summary>The additions of ProxyEntry to the exchange; made on the first call.</summary>
    public ExchangeExtras UseExtras(VisitorExchange exchange)
    {
        if (exchange.Extras is { } present)
        {
            return present;
        }

        _extras ??= new ExchangeExtras();
        _extras.Reset();
        return exchange.Extras = _extras;
    }

    /// <summary>The observer's note about this request; null when there is none.</summary>
    /// <typeparam name="TNote">The observer's type of note.</typeparam>
    public TNote? NoteOf<TNote>()
        where TNote : RequestNote
    {
        for (var note = _notes; note is not null; note = note.Next)
        {
            if (note.Use == _use && note is TNote wanted)
            {
                return wanted;
            }
        }

        return null;
    }

    /// <summary>Makes a note about this request, which <see cref="NoteOf"/> then finds.</summary>
    /// <typeparam name="TNote">The observer's type of note.</typeparam>
    /// <returns>The note, with the values that an earlier request left in it.</returns>
    public TNote UseNote<TNote>()
        where TNote : RequestNote, new()
    {
        var note = _notes;
        while (note is not null and not TNote)
        {
            note = note.Next;
        }

        if (note is not TNote own)
        {
            own = new TNote { Next = _notes };
            _notes = own;
        }

        own.Use = _use;
        return own;
    }

    /// <summary>A request begins.</summary>
    /// <param name="clock">The clock for its times.</param>
    public void Begin(TimeProvider clock)
    {
        Times.Begin(clock);
        _clock = new CoarseClock(clock);
        Phase = ForwardPhase.Idle;
        BytesReceived = 0;
        BytesSent = 0;
        ResponseLeft = ResponseFacts.NoLength;
        BodyLimit = long.MaxValue;
        HeadLimit = long.MaxValue;
        Status = 0;
        Session = null;
        Held = null;
        Owner = null;
        IsCarried = false;
        NodeId = null;
        FailedAt = null;
        _nodesLeft = default;
        HasOtherNodes = false;
        StaysHere = false;
        IsDomainAsked = false;
        Error = null;
        Capture = null;
        UplinkIndex = -1;
        IsBodyUnwanted = false;
        IsBodyTaken = false;
        HasContinued = false;
        IsCounted = false;
        Continue = null;
        WaitsForBody = false;
        _tried = default;
        Touch();
        using (_gate.EnterScope())
        {
            _use++;
            _id = default;
            _cutBy = null;
            _cutWith = null;
            _isCut = false;
        }
    }

    /// <summary>The request starts again on another stream.</summary>
    public void BeginAgain()
    {
        Phase = ForwardPhase.Idle;
        BytesReceived = 0;
        Continue = null;
        IsBodyUnwanted = false;
        Touch();
    }

    /// <summary>The request made progress.</summary>
    public void Touch() => Volatile.Write(ref _lastProgress, _clock.Milliseconds);

    /// <summary>The whole request was sent. It now waits for the response, unless that has already begun.</summary>
    public void RequestSent()
    {
        Touch();
        Interlocked.CompareExchange(ref _phase, (int)ForwardPhase.Head, (int)ForwardPhase.Upload);
    }

    /// <summary>The final head of the response has come.</summary>
    /// <param name="status">Its status.</param>
    /// <param name="at">When: a timestamp of <see cref="Times"/>.</param>
    public void HeadArrived(int status, long at)
    {
        Status = status;
        Times.MarkResponseHead(at);
    }

    /// <summary>
    /// Cancelled when the session is about to end in order; see <see cref="EntrySession.Leaving"/>. For a session of another node: when
    /// this node is about to stop.
    /// </summary>
    public CancellationToken SessionLeaving { get; private set; }

    /// <summary>It has a stream.</summary>
    /// <param name="stream">The stream.</param>
    /// <param name="session">Its session; null: the stream leads to another node.</param>
    /// <param name="nodeLeaving">Cancelled when this node is about to stop; for a stream that leads to another node.</param>
    public void Attach(TunnelStream stream, EntrySession? session, CancellationToken nodeLeaving)
    {
        Session = session;
        IsCarried = session is null;
        SessionLeaving = session?.Leaving ?? nodeLeaving;
        UplinkIndex = stream.Uplink.Slot;
        using (_gate.EnterScope())
        {
            _stream = stream;
            _id = stream.Id;
        }
    }

    /// <summary>The stream will be released next.</summary>
    public void Detach()
    {
        using (_gate.EnterScope())
        {
            _stream = null;
        }
    }

    /// <summary>
    /// From now on until <see cref="EndVisitorWait"/>, the caller waits for the visitor, or for what comes before a stream. A cut of the
    /// request also ends that wait.
    /// </summary>
    /// <param name="exchange">The visitor's exchange. It is aborted at once if the request has already been cut.</param>
    public void BeginVisitorWait(VisitorExchange exchange)
    {
        bool isCut;
        Touch();
        using (_gate.EnterScope())
        {
            _cutWith = exchange;
            isCut = _isCut;
        }

        if (isCut)
        {
            exchange.Abort();
        }
    }

    /// <summary>The visitor has read something, or is gone.</summary>
    public void EndVisitorWait()
    {
        Touch();
        int cutter;
        using (_gate.EnterScope())
        {
            _cutWith = null;
            cutter = _cutter;
        }

        // The exchange serves its next request soon, which a cut that is under way on another thread must not hit. A cut is short.
        for (var spin = default(SpinWait);
            cutter != 0 && cutter != Environment.CurrentManagedThreadId && spin.Count < MostSpins; cutter = Volatile.Read(ref _cutter))
        {
            spin.SpinOnce();
        }
    }

    /// <summary>Waits for what no stream carries: a read by the visitor, its agent, a check. A cut of the request ends the wait.</summary>
    public ValueTask<T> WaitFor<T>(VisitorExchange exchange, ValueTask<T> waiting) =>
        waiting.IsCompleted ? waiting : WaitUnlessCutAsync(exchange, waiting);

    /// <summary>
    /// The request's stream was reset. If it was reset because its bytes were not read, the wait is one for the visitor and not for the
    /// stream, so the request is cut.
    /// </summary>
    /// <param name="id">The stream.</param>
    public void OnStreamReset(StreamId id)
    {
        int use;
        using (_gate.EnterScope())
        {
            if (_stream is null
                || _id != id
                || _stream.Failure is not { Kind: StreamFailureKind.LocalReset, Detail: StreamResetDetail.Stalled })
            {
                return;
            }

            use = _use;
        }

        Cut(use, ProxyError.VisitorStalled, StreamResetReason.Cancel, StreamResetDetail.Stalled);
    }

    /// <summary>The visitor left.</summary>
    public void CutByVisitor() => Cut(Use, null, StreamResetReason.Cancel, Exchange?.LeftDetail ?? StreamResetDetail.None);

    /// <summary>Cuts the request from outside.</summary>
    /// <param name="use">The use of the object that is meant; a later one is not touched.</param>
    /// <param name="error">The error for the visitor, or null.</param>
    /// <param name="reason">The reset reason for the agent.</param>
    /// <param name="detail">The reset detail for the agent.</param>
    public void Cut(int use, ProxyError? error, StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None)
    {
        TunnelStream? stream;
        VisitorExchange? exchange;
        StreamId id;
        using (_gate.EnterScope())
        {
            if (use != _use)
            {
                return;
            }

            stream = _stream;
            id = _id;
            exchange = _cutter == 0 ? _cutWith : null;
            _cutter = exchange is null ? _cutter : Environment.CurrentManagedThreadId;
            _isCut = true;
            if (stream is not null)
            {
                _cutBy ??= error;
            }
        }

        // Outside the gate, because code that waits on the stream or for the visitor may continue inside this call.
        stream?.ResetIf(id, reason, detail);
        try
        {
            exchange?.Abort();
        }
        finally
        {
            if (exchange is not null)
            {
                Volatile.Write(ref _cutter, 0);
            }
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<T> WaitUnlessCutAsync<T>(VisitorExchange exchange, ValueTask<T> waiting)
    {
        BeginVisitorWait(exchange);
        try
        {
            return await waiting.ConfigureAwait(false);
        }
        finally
        {
            EndVisitorWait();
        }
    }
}
