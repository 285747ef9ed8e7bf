using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Messages;

namespace Tunnel2.Inspection.Capture;

/// <summary>
/// One exchange as it passes. Its request's pump and its response's pump write, each its own part, and never wait; any thread reads. After
/// the store has dropped it, what is written goes nowhere.
/// </summary>
internal sealed class ExchangeCapture : IMessageSink
{
    /// <summary>What an exchange is accounted for beyond its bytes: its objects, and the readers of an upgraded one.</summary>
    public const int Overhead = 1024;

    private readonly ExchangeStore _store;
    private readonly TimeProvider _time;
    private readonly InspectionLimits _limits;
    private readonly long _began;
    private byte[]? _requestHead;
    private byte[]? _responseHead;
    private byte[]? _requestTrailers;
    private byte[]? _responseTrailers;
    private long _connected;
    private long _sent;
    private long _requestEnded;
    private long _answered;
    private long _ended;
    private MessageLog? _messages;
    private WebSocketReader? _fromVisitor;
    private WebSocketReader? _fromService;
    private EventStreamReader? _events;
    private volatile bool _isDropped;

    /// <summary>Begins an exchange; its bytes are reserved.</summary>
    public ExchangeCapture(ExchangeStore store, TimeProvider time, InspectionLimits limits, long id, byte[] requestHead)
    {
        _store = store;
        _time = time;
        _limits = limits;
        Id = id;
        _requestHead = requestHead;
        StartedAt = time.GetUtcNow();
        _began = time.GetTimestamp();
    }

    /// <summary>Counts the exchanges of a session, from 1.</summary>
    public long Id { get; }

    /// <summary>The node of a cluster that has it; null: there is one server.</summary>
    public string? Node => _store.Node;

    /// <summary>When it began.</summary>
    public DateTimeOffset StartedAt { get; }

    /// <summary>The request's body.</summary>
    public ByteChain RequestBody { get; } = new();

    /// <summary>The response's body; of an upgraded connection, what the service sent.</summary>
    public ByteChain ResponseBody { get; } = new();

    /// <summary>The request's head.</summary>
    public RequestHead Request => _requestHead is { } bytes ? RequestHead.Read(bytes) : RequestHead.Unreadable;

    /// <summary>The response's head; its status is 0 until it has come.</summary>
    public ResponseHead Response => Volatile.Read(ref _responseHead) is { } bytes ? ResponseHead.Read(bytes) : new ResponseHead();

    /// <summary>What followed the request's body, in wire order.</summary>
    public IReadOnlyList<HeadField> RequestTrailers => TrailersOf(ref _requestTrailers);

    /// <summary>What followed the response's body, in wire order.</summary>
    public IReadOnlyList<HeadField> ResponseTrailers => TrailersOf(ref _responseTrailers);

    /// <summary>The status, or 0.</summary>
    public int Status { get; private set; }

    /// <summary>Where it failed, or null.</summary>
    public string? Leg { get; private set; }

    /// <summary>What went wrong, or null.</summary>
    public string? Error { get; private set; }

    /// <summary>Whether the connection was upgraded.</summary>
    public bool IsUpgraded { get; private set; }

    /// <summary>The exchange that this one repeats, or 0.</summary>
    public long ReplayOf { get; set; }

    /// <summary>The way of a replay: <c>tunnel</c> or <c>service</c>; null for a visitor's request.</summary>
    public string? Via { get; set; }

    /// <summary>The service that it went to, where the tunnel has several; else null.</summary>
    public string? Service { get; set; }

    /// <summary>The version of HTTP by which the service got the request; null where it is not known here, or did not get it.</summary>
    public string? ServiceVersion { get; private set; }

    /// <summary>Whether it is over.</summary>
    public bool IsEnded => Volatile.Read(ref _ended) != 0;

    /// <summary>Whether the store has let go of it.</summary>
    public bool IsDropped => _isDropped;

    /// <summary>Bytes that the store has reserved for it; under the store's lock.</summary>
    internal long Held { get; set; }

    /// <summary>Who waits for the end of a replay; set before the exchange begins.</summary>
    internal ReplayExpectation? Expectation { get; set; }

    /// <summary>Its times.</summary>
    public ExchangeTimes Times => new(
        After(ref _connected), After(ref _sent), After(ref _requestEnded), After(ref _answered), After(ref _ended));

    /// <summary>How long it has lasted, or lasts.</summary>
    public TimeSpan Duration => After(ref _ended) ?? _time.GetElapsedTime(_began);

    /// <summary>The messages that are kept, and how many passed.</summary>
    public (IReadOnlyList<CapturedMessage> Kept, long Count) Messages =>
        Volatile.Read(ref _messages) is { } log ? (log.ToList(), log.Count) : ([], 0);

    /// <summary>A connection to the service is there; the last time counts.</summary>
    public void OnConnected() => Mark(ref _connected);

    /// <summary>The request's head is sent; the last time counts.</summary>
    /// <param name="version">The version of HTTP by which the service got it; null where only the agent knows.</param>
    public void OnSent(string? version = null)
    {
        ServiceVersion = version;
        Mark(ref _sent);
    }

    /// <summary>Bytes of the request's body, or of what a visitor sends on an upgraded connection.</summary>
    public void OnRequestBody(ReadOnlySpan<byte> data)
    {
        RequestBody.Append(data, this, _limits.BodyBytes);
        if (_fromVisitor is { } reader)
        {
            Read(reader, data);
        }
    }

    /// <summary>The trailers of the request, as a block of the wire; it is copied.</summary>
    public void OnRequestTrailers(ReadOnlySpan<byte> block) => KeepTrailers(ref _requestTrailers, block);

    /// <summary>The trailers of the response, as a block of the wire; it is copied.</summary>
    public void OnResponseTrailers(ReadOnlySpan<byte> block) => KeepTrailers(ref _responseTrailers, block);

    /// <summary>The request's body is whole.</summary>
    public void OnRequestEnded() => Mark(ref _requestEnded);

    /// <summary>The final head of the response, as lines of HTTP/1.1.</summary>
    public void OnResponseHead(ReadOnlySpan<byte> lines, int status)
    {
        Mark(ref _answered);
        Status = status;
        if (TryReserve(lines.Length))
        {
            Volatile.Write(ref _responseHead, lines.ToArray());
            BeginEvents(lines);
        }

        _store.OnChanged();
    }

    /// <summary>The connection is upgraded: what follows are raw bytes.</summary>
    public void OnUpgraded()
    {
        IsUpgraded = true;
        if (!string.Equals(Response.Fields.Find("Upgrade"u8), "websocket", StringComparison.OrdinalIgnoreCase))
        {
            return;
        }

        Volatile.Write(ref _messages, new MessageLog());
        var extensions = string.Join(',', Response.Fields.Where(static field => field.Is("Sec-WebSocket-Extensions"u8))
            .Select(static field => HeadText.Of(field.Value).ToLowerInvariant()));
        _fromVisitor = new WebSocketReader(fromVisitor: true, this, _limits.MessageBytes, SharesWindow(extensions, "client"));
        _fromService = new WebSocketReader(fromVisitor: false, this, _limits.MessageBytes, SharesWindow(extensions, "server"));
    }

    /// <summary>Bytes of the response's body, or of what the service sends on an upgraded connection.</summary>
    public void OnResponseBody(ReadOnlySpan<byte> data)
    {
        ResponseBody.Append(data, this, _limits.BodyBytes);
        if (_fromService is { } reader)
        {
            Read(reader, data);
        }
        else if (_events is { } events && !_isDropped)
        {
            events.Read(data);
        }
    }

    /// <summary>The exchange is over. Both pumps have ended.</summary>
    /// <param name="leg">Where it failed, or null.</param>
    /// <param name="error">What went wrong, or null.</param>
    public void OnEnded(string? leg, string? error)
    {
        Leg = leg;
        Error = error;
        Mark(ref _ended);
        _fromVisitor?.End();
        _fromService?.End();
        _events?.End();
        Expectation?.OnEnded(this);
        _store.OnChanged();
    }

    /// <inheritdoc/>
    public bool TryReserve(int bytes) => _store.TryReserve(this, bytes);

    /// <inheritdoc/>
    public void Free(int bytes) => _store.Free(this, bytes);

    /// <inheritdoc/>
    public void OnMessage(
        bool fromVisitor, MessageKind kind, ReadOnlySpan<byte> kept, long length, bool isCompressed, long? content = null)
    {
        if (Volatile.Read(ref _messages) is not { } log)
        {
            return;
        }

        var fits = TryReserve(CapturedMessage.Overhead + kept.Length);
        var bytes = fits ? kept.ToArray() : [];
        var after = _time.GetElapsedTime(_began);
        var freed = log.Add(
            fits ? number => new CapturedMessage(number, fromVisitor, kind, after, bytes, length, isCompressed, content) : null,
            _limits.Messages);
        if (freed > 0)
        {
            Free(freed);
        }

        _store.OnChanged();
    }

    /// <summary>The store lets go of it.</summary>
    internal void Drop()
    {
        _isDropped = true;
        RequestBody.Release();
        ResponseBody.Release();
        Volatile.Read(ref _messages)?.Release();
        _fromVisitor?.Release();
        _fromService?.Release();
        Volatile.Write(ref _responseHead, null);
        Volatile.Write(ref _requestTrailers, null);
        Volatile.Write(ref _responseTrailers, null);
        _requestHead = null;
    }

    private void BeginEvents(ReadOnlySpan<byte> lines)
    {
        // Few answers are events: the whole head is read of those only.
        if (HeadFields.MediaTypeOf(HeadText.Of(ResponseHead.Find(lines, "Content-Type"u8))) == "text/event-stream"
            && Response.Fields.Codings().Length == 0)
        {
            Volatile.Write(ref _messages, new MessageLog());
            _events = new EventStreamReader(this, _limits.MessageBytes);
        }
    }

    /// <summary>Whether the compressed messages of a side are read with those before them.</summary>
    private static bool SharesWindow(string extensions, string side) =>
        extensions.Contains("permessage-deflate", StringComparison.Ordinal)
        && !extensions.Contains(side + "_no_context_takeover", StringComparison.Ordinal);

    /// <summary>No bytes of a peer that the reader fails on may harm the exchange itself.</summary>
    private void Read(WebSocketReader reader, ReadOnlySpan<byte> data)
    {
        if (_isDropped)
        {
            reader.Release();
            return;
        }

        try
        {
            reader.Read(data);
        }
        catch (Exception exception) when (exception is ArgumentException or IndexOutOfRangeException or OutOfMemoryException)
        {
            reader.End();
        }
    }

    private void KeepTrailers(ref byte[]? place, ReadOnlySpan<byte> block)
    {
        // A request that another connection takes over brings its trailers again: the first ones are those that are kept.
        if (!block.IsEmpty && Volatile.Read(ref place) is null && TryReserve(block.Length))
        {
            Volatile.Write(ref place, block.ToArray());
            _store.OnChanged();
        }
    }

    private static IReadOnlyList<HeadField> TrailersOf(ref byte[]? place) =>
        Volatile.Read(ref place) is { } block ? TrailerBlock.Read(block) : [];

    private void Mark(ref long moment) => Volatile.Write(ref moment, Math.Max(1, _time.GetTimestamp() - _began));

    private TimeSpan? After(ref long moment) =>
        Volatile.Read(ref moment) is > 0 and var ticks ? _time.GetElapsedTime(_began, _began + ticks) : null;
}
