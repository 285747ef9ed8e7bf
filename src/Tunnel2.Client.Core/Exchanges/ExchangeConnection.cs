using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Http2;
using Tunnel2.Http2.Frames;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// What an exchange has at the backend, or waits for there: a reset of its stream ends it. Used by one exchange at a time and again by the
/// next. Thread-safe, with one exception: <see cref="Begin"/>.
/// </summary>
/// <param name="byReset">Whether an end is passed on as a reset of the connection; see <see cref="BackendConnection.Discard"/>.</param>
internal sealed class ExchangeConnection(bool byReset)
{
    private readonly Lock _gate = new();
    private StreamId _id;
    private TunnelStream? _stream;
    private BackendConnection? _connection;
    private CancellationTokenSource? _waiting;
    private Http2Stream? _http2;
    private int _http2Id;
    private bool _isAborted;

    /// <summary>Whether the visitor has left, or the uplink is gone.</summary>
    public bool IsAborted => Volatile.Read(ref _isAborted);

    /// <summary>An exchange begins. No other thread knows it yet: a call for an earlier one does not find its id.</summary>
    /// <param name="id">The id of its stream.</param>
    /// <param name="stream">The stream whose reset code a service of HTTP/2 gets; null: it gets CANCEL.</param>
    public void Begin(StreamId id, TunnelStream? stream = null)
    {
        _isAborted = false;
        _id = id;
        _stream = stream;
    }

    /// <summary>An abort gives up a wait from now on, until <see cref="EndWait"/>.</summary>
    /// <returns>False: the exchange is aborted already.</returns>
    public bool BeginWait(CancellationTokenSource waiting)
    {
        lock (_gate)
        {
            _waiting = waiting;
            return !_isAborted;
        }
    }

    /// <summary>The wait is over.</summary>
    public void EndWait()
    {
        lock (_gate)
        {
            _waiting = null;
        }
    }

    /// <summary>The exchange has a connection. It is broken at once if the exchange was aborted before.</summary>
    public void Hold(BackendConnection connection)
    {
        lock (_gate)
        {
            _connection = connection;
            if (_isAborted)
            {
                connection.Break(byReset);
            }
        }
    }

    /// <summary>The exchange has a stream of HTTP/2; see <see cref="Hold(BackendConnection)"/>.</summary>
    public void Hold(Http2Stream stream, int id)
    {
        Http2ErrorCode? aborted;
        lock (_gate)
        {
            (_http2, _http2Id) = (stream, id);
            aborted = _isAborted ? CodeUnsynchronized() : null;
        }

        if (aborted is { } code)
        {
            stream.Cancel(id, code);
        }
    }

    /// <summary>The stream of HTTP/2 is about to be released.</summary>
    public void LetGoOfStream()
    {
        lock (_gate)
        {
            _http2 = null;
        }
    }

    /// <summary>Takes the connection out; null: there is none.</summary>
    public BackendConnection? Take()
    {
        lock (_gate)
        {
            var taken = _connection;
            _connection = null;
            return taken;
        }
    }

    /// <summary>Every wait of an exchange ends. The call may come late, when the object already serves another stream.</summary>
    public void Abort(StreamId id)
    {
        Http2Stream? http2 = null;
        var http2Id = 0;
        var code = Http2ErrorCode.Cancel;
        lock (_gate)
        {
            if (_id == id)
            {
                _isAborted = true;
                _connection?.Break(byReset);
                _waiting?.Cancel();
                (http2, http2Id) = (_http2, _http2Id);
                code = CodeUnsynchronized();
            }
        }

        http2?.Cancel(http2Id, code);
    }

    /// <summary>The exchange is over: a call to <see cref="Abort"/> finds nothing from now on.</summary>
    /// <param name="left">The connection, if it was not taken out; the caller closes it.</param>
    /// <returns>Whether the exchange was aborted.</returns>
    public bool End(out BackendConnection? left)
    {
        lock (_gate)
        {
            _id = StreamId.Uplink;
            left = _connection;
            _connection = null;
            return _isAborted;
        }
    }

    private Http2ErrorCode CodeUnsynchronized() => _stream?.VisitorCode() ?? Http2ErrorCode.Cancel;
}
