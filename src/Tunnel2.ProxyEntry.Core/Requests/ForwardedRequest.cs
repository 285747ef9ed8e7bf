using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What the forwarder keeps of one request while it is under way: its stream, how far it came, and when something last moved. Used by one
/// request at a time and again by the next.
/// </summary>
internal sealed class ForwardedRequest
{
    private readonly ShortLock _gate = new();
    private TunnelStream? _stream;
    private StreamId _id;
    private int _use;
    private ProxyError? _cutBy;
    private long _lastProgress;
    private int _phase;
    private bool _bodyUnwanted;
    private ExchangeExtras? _extras;
    private RequestNote? _notes;
    private VisitorExchange? _cutWith;
    private bool _isCut;

    /// <summary>Neighbours in the watchdog's list; its lock guards them.</summary>
    public ForwardedRequest? Next { get; set; }

    /// <summary>Neighbours in the watchdog's list; its lock guards them.</summary>
    public ForwardedRequest? Previous { get; set; }

    /// <summary>Which of the watchdog's lists it is in.</summary>
    public int WatchedBy { get; set; }

    /// <summary>When what happened.</summary>
    public RequestTimes Times { get; } = new();

    /// <summary>Where the request stands: what it waits for decides which limit holds.</summary>
    public ForwardPhase Phase
    {
        get => (ForwardPhase)Volatile.Read(ref _phase);
        set => Volatile.Write(ref _phase, (int)value);
    }

    /// <summary>Body bytes received from the visitor.</summary>
    public long BytesReceived { get; set; }

    /// <summary>Body bytes sent to the visitor.</summary>
    public long BytesSent { get; set; }

    /// <summary>Bytes that the response's body still lacks of its declared length, or <see cref="ResponseFacts.NoLength"/>.</summary>
    public long ResponseLeft { get; set; }

    /// <summary>The status of the response, or 0.</summary>
    public int Status { get; set; }

    /// <summary>Who serves the request, or null while or because that is not known.</summary>
    public EntrySession? Session { get; set; }

    /// <summary>
    /// Whose session it is meant for, once it waited for one or was on its way to one: no other may get it. Null as long as any may.
    /// </summary>
    public AgentIdentity? Owner { get; set; }

    /// <summary>What ProxyEntry itself failed the request with, or null.</summary>
    public ProxyError? Error { get; set; }

    /// <summary>
    /// The stream that carried the request; the default value when none did. For the request's own flow, and under the watchdog's list.
    /// </summary>
    public StreamId StreamId => _id;

    /// <summary>
    /// The position of the stream's uplink among those of its session when the stream was opened; -1 when there was none.
    /// </summary>
    public int UplinkIndex { get; private set; } = -1;

    /// <summary>How it gets from its visitor's event loop to that of its uplink.</summary>
    public LoopPath LoopPath { get; set; }

    /// <summary>Where the visitor expects a 100: who says it, and when.</summary>
    public ContinueTurn? Continue { get; set; }

    /// <summary>Whether somebody waits for nothing but the visitor, whose connection is to be cut with the request.</summary>
    public bool WaitsForVisitor => Volatile.Read(ref _cutWith) is not null;

    /// <summary>
    /// Whether nobody wants the rest of the request's body any more: the exchange on its stream is over. Set before the pump is woken.
    /// </summary>
    public bool IsBodyUnwanted
    {
        get => Volatile.Read(ref _bodyUnwanted);
        set => Volatile.Write(ref _bodyUnwanted, value);
    }

    /// <summary>Whether bytes of the request's body were sent and not kept, so that another stream could not have them.</summary>
    public bool IsBodyTaken { get; set; }

    /// <summary>Whether the visitor was told to go on with its body; once is enough.</summary>
    public bool HasContinued { get; set; }

    /// <summary>The beginning of the body, kept in case the stream is refused.</summary>
    public KeptBody Kept { get; } = new();

    /// <summary>What ProxyEntry itself cut the request for, or null.</summary>
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

    /// <summary>Milliseconds since something moved.</summary>
    public long IdleMilliseconds(long now) => now - Volatile.Read(ref _lastProgress);

    /// <summary>Which use of the object this is: what is decided about one request must not hit the next.</summary>
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

    /// <summary>Whether it was counted against its session's limit: once, however often it is tried or waits.</summary>
    public bool IsCounted { get; set; }

    /// <summary>What ProxyEntry adds to the exchange, from now on.</summary>
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

    /// <summary>What was kept of this request; null when nothing was.</summary>
    /// <typeparam name="TNote">Whose note it is.</typeparam>
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

    /// <summary>Somebody keeps something of this request: from now on <see cref="NoteOf"/> finds it.</summary>
    /// <typeparam name="TNote">Whose note it is.</typeparam>
    /// <returns>The note, with what an earlier request has left in it.</returns>
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
    /// <param name="clock">What its times are read from.</param>
    public void Begin(TimeProvider clock)
    {
        Times.Begin(clock);
        Phase = ForwardPhase.Idle;
        BytesReceived = 0;
        BytesSent = 0;
        ResponseLeft = ResponseFacts.NoLength;
        Status = 0;
        Session = null;
        Owner = null;
        Error = null;
        UplinkIndex = -1;
        IsBodyUnwanted = false;
        IsBodyTaken = false;
        HasContinued = false;
        IsCounted = false;
        Continue = null;
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

    /// <summary>The request goes to another stream, from its beginning.</summary>
    public void BeginAgain()
    {
        Phase = ForwardPhase.Idle;
        BytesReceived = 0;
        Continue = null;
        IsBodyUnwanted = false;
        Touch();
    }

    /// <summary>Something moved.</summary>
    public void Touch() => Volatile.Write(ref _lastProgress, Environment.TickCount64);

    /// <summary>The request has been sent whole: what remains to be waited for is the response, unless that has begun already.</summary>
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

    /// <summary>Cancelled when the session is about to end in order; see <see cref="EntrySession.Leaving"/>.</summary>
    public CancellationToken SessionLeaving { get; private set; }

    public void Attach(TunnelStream stream, EntrySession session)
    {
        Session = session;
        SessionLeaving = session.Leaving;
        UplinkIndex = stream.Uplink.Slot;
        using (_gate.EnterScope())
        {
            _stream = stream;
            _id = stream.Id;
        }
    }

    /// <summary>The stream is about to be released.</summary>
    public void Detach()
    {
        using (_gate.EnterScope())
        {
            _stream = null;
        }
    }

    /// <summary>
    /// Somebody is going to wait for nothing but the visitor, from now on until <see cref="EndVisitorWait"/>: whoever cuts the request has
    /// to end that wait, too.
    /// </summary>
    /// <param name="exchange">The visitor's exchange. Aborted at once where the request has been cut already.</param>
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

    /// <summary>The visitor has taken something, or is gone.</summary>
    public void EndVisitorWait()
    {
        Touch();
        using (_gate.EnterScope())
        {
            _cutWith = null;
        }
    }

    /// <summary>Waits until the visitor has taken what is being sent. Whoever cuts the request ends the wait.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public ValueTask<bool> WaitForVisitor(VisitorExchange exchange, ValueTask<bool> sending) =>
        sending.IsCompleted ? sending : AwaitVisitorAsync(exchange, sending);

    /// <summary>
    /// What was reset is the request's stream. Where it was cut because nobody takes what it holds, the visitor is waited for, not the
    /// stream.
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
    public void CutByVisitor() => Cut(Use, null, StreamResetReason.Cancel);

    /// <summary>Cuts the request from outside.</summary>
    /// <param name="use">The use that is meant; a later one is left alone.</param>
    /// <param name="error">What the visitor is to be told, or null.</param>
    /// <param name="reason">The reason for the agent.</param>
    /// <param name="detail">More about it.</param>
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
            exchange = _cutWith;
            _isCut = true;
            if (stream is not null)
            {
                _cutBy ??= error;
            }
        }

        // Outside the gate: whoever waits on the stream may continue right here.
        stream?.ResetIf(id, reason, detail);
        exchange?.Abort();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> AwaitVisitorAsync(VisitorExchange exchange, ValueTask<bool> sending)
    {
        BeginVisitorWait(exchange);
        try
        {
            return await sending.ConfigureAwait(false);
        }
        finally
        {
            EndVisitorWait();
        }
    }
}

/// <summary>What a forwarded request waits for.</summary>
internal enum ForwardPhase
{
    /// <summary>It is not under way.</summary>
    Idle,

    /// <summary>Bytes of the request's body.</summary>
    Upload,

    /// <summary>The response's head.</summary>
    Head,

    /// <summary>Bytes of a body, of either direction.</summary>
    Body,

    /// <summary>Nothing that a limit holds for: it was upgraded.</summary>
    Upgraded,
}
