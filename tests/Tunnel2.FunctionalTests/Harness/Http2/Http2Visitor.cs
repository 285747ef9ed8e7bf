using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;

namespace Tunnel2.FunctionalTests.Harness.Http2;

/// <summary>
/// A visitor that speaks HTTP/2 frame by frame: it sends what the test says, also what no client would, keeps flow control in both
/// directions, and holds what comes for each stream apart. Bytes of a connection are always given credit; those of a stream only while it
/// reads.
/// </summary>
internal sealed partial class Http2Visitor : IAsyncDisposable
{
    private const int HeaderLength = 9;
    private const int MaxFrame = 16 * 1024;
    private const int Headers = 1;

    private readonly Stream _transport;
    private readonly SemaphoreSlim _sending = new(1, 1);
    private readonly Lock _gate = new();
    private readonly Dictionary<int, Http2VisitorStream> _streams = [];
    private readonly TaskCompletionSource _greeted = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Task _reading;
    private TaskCompletionSource _credited = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private long _window = 65_535;
    private long _streamWindow = 65_535;
    private int _nextId = 1;
    private List<byte> _block = [];
    private bool _blockEnds;
    private volatile bool _isDisposed;
    private Exception? _lost;

    private Http2Visitor(Stream transport)
    {
        _transport = transport;
        _reading = ReadAsync();
    }

    /// <summary>Whether the server gets credit back on streams that are opened from now on; their first bytes may come at once.</summary>
    public bool ReadsNewStreams { get; set; } = true;

    /// <summary>SETTINGS of the server, by their numbers.</summary>
    public Dictionary<int, uint> Settings { get; } = [];

    /// <summary>The last stream of a GOAWAY, or null.</summary>
    public int? GoneAway { get; private set; }

    /// <summary>The error code of a GOAWAY, or null.</summary>
    public int? GoAwayCode { get; private set; }

    /// <summary>Connects and waits for the server's settings.</summary>
    /// <param name="endPoint">Where to.</param>
    /// <param name="isTls">Whether by TLS; else by prior knowledge.</param>
    [SuppressMessage("Security", "CA5359", Justification = "The certificate is made at the test's start; no program can know it.")]
    public static async Task<Http2Visitor> ConnectAsync(IPEndPoint endPoint, bool isTls)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(endPoint);
        Stream transport = new NetworkStream(socket, ownsSocket: true);
        if (isTls)
        {
            var tls = new SslStream(transport, leaveInnerStreamOpen: false, static (_, _, _, _) => true);
            await tls.AuthenticateAsClientAsync(
                new SslClientAuthenticationOptions
                {
                    TargetHost = TunnelFixture.Host,
                    ApplicationProtocols = [SslApplicationProtocol.Http2],
                });
            transport = tls;
        }

        var visitor = new Http2Visitor(transport);

        // No table for the server's fields (SETTINGS_HEADER_TABLE_SIZE), and no push.
        byte[] greeting = [.. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8, .. Frame(4, 0, 0, [0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0])];
        await visitor.SendRawAsync(greeting);
        await visitor._greeted.Task.WaitAsync(TimeSpan.FromSeconds(20));
        return visitor;
    }

    /// <summary>Opens a stream.</summary>
    /// <param name="fields">Its fields, pseudo-fields first.</param>
    /// <param name="end">Whether the request ends with them.</param>
    public async Task<Http2VisitorStream> OpenAsync(IEnumerable<(string Name, string Value)> fields, bool end = false)
    {
        Http2VisitorStream stream;
        await _sending.WaitAsync();
        try
        {
            lock (_gate)
            {
                stream = NextStreamUnsynchronized();
            }

            await WriteBlockAsync(stream.Id, fields, end);
        }
        finally
        {
            _sending.Release();
        }

        return stream;
    }

    /// <summary>Ends a stream with trailers.</summary>
    public async Task SendTrailersAsync(Http2VisitorStream stream, IEnumerable<(string Name, string Value)> fields)
    {
        await _sending.WaitAsync();
        try
        {
            await WriteBlockAsync(stream.Id, fields, end: true);
        }
        finally
        {
            _sending.Release();
        }
    }

    /// <summary>Asks for a WebSocket on a stream of its own (RFC 8441).</summary>
    public Task<Http2VisitorStream> ConnectAsync(string path, string scheme, params (string Name, string Value)[] fields) =>
        OpenAsync(
            [
                (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", scheme), (":authority", TunnelFixture.Host),
                (":path", path), ("sec-websocket-version", "13"), .. fields,
            ]);

    /// <summary>Sends DATA as far as there is credit, and waits for more.</summary>
    public async Task SendDataAsync(Http2VisitorStream stream, ReadOnlyMemory<byte> data, bool end)
    {
        do
        {
            var length = 0;
            Task credited;
            lock (_gate)
            {
                credited = _credited.Task;
                length = (int)Math.Min(Math.Min(data.Length, MaxFrame), Math.Min(_window, stream.Window));
                _window -= length;
                stream.Window -= length;
            }

            if (length == 0 && data.Length > 0)
            {
                await credited;
                continue;
            }

            await SendRawAsync(Frame(0, (byte)(end && length == data.Length ? 1 : 0), stream.Id, data[..length].Span));
            data = data[length..];
        }
        while (data.Length > 0);
    }

    /// <summary>Sends RST_STREAM.</summary>
    public Task ResetAsync(Http2VisitorStream stream, uint code) => SendRawAsync(Frame(3, 0, stream.Id, Number((int)code)));

    /// <summary>Grants credit to a stream, or with 0 to the connection.</summary>
    public Task GrantAsync(int id, int bytes) => SendRawAsync(Frame(8, 0, id, Number(bytes)));

    /// <summary>
    /// Sends frames that the test has made. Where the peer ends the connection in that time, what it said before can still be read.
    /// </summary>
    public async Task SendFramesAsync(ReadOnlyMemory<byte> frames)
    {
        try
        {
            await SendRawAsync(frames);
        }
        catch (Exception exception) when (exception is IOException || IsOfDisposal(exception))
        {
            // Reading on says how it ended.
        }
    }

    /// <summary>A stream that the test opens by frames of its own making.</summary>
    public Http2VisitorStream NextStream()
    {
        lock (_gate)
        {
            return NextStreamUnsynchronized();
        }
    }

    /// <summary>Waits until the server has ended the connection.</summary>
    /// <returns>The error code of its GOAWAY, or null.</returns>
    public async Task<int?> ReadEndAsync()
    {
        await _reading.WaitAsync(TimeSpan.FromSeconds(20));
        return GoAwayCode;
    }

    public async ValueTask DisposeAsync()
    {
        _isDisposed = true;
        await _transport.DisposeAsync();
        await _reading;
        _sending.Dispose();
    }

    /// <summary>A stream of a connection that is lost already has its end.</summary>
    private Http2VisitorStream NextStreamUnsynchronized()
    {
        var stream = new Http2VisitorStream(this, _nextId) { Window = _streamWindow, IsReading = ReadsNewStreams };
        _streams.Add(_nextId, stream);
        _nextId += 2;
        if (_lost is not null)
        {
            stream.OnLost(_lost);
        }

        return stream;
    }

    private static byte[] Frame(int type, int flags, int id, ReadOnlySpan<byte> payload)
    {
        var frame = new byte[HeaderLength + payload.Length];
        BinaryPrimitives.WriteInt32BigEndian(frame, payload.Length << 8 | type);
        frame[4] = (byte)flags;
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(5), id);
        payload.CopyTo(frame.AsSpan(HeaderLength));
        return frame;
    }

    /// <summary>
    /// Writes a block of fields in as many frames as it needs; nothing may come between them, so the caller holds the sending side.
    /// </summary>
    private async Task WriteBlockAsync(int stream, IEnumerable<(string Name, string Value)> fields, bool end)
    {
        const int Continuation = 9;
        var block = PlainHpack.Encode(fields);
        for (var at = 0; at == 0 || at < block.Length; at += MaxFrame)
        {
            var isLast = block.Length - at <= MaxFrame;
            var flags = (isLast ? 4 : 0) | (at == 0 && end ? 1 : 0);
            var part = block.AsSpan(at, Math.Min(MaxFrame, block.Length - at));
            await _transport.WriteAsync(Frame(at == 0 ? Headers : Continuation, flags, stream, part));
        }
    }

    private async Task SendRawAsync(ReadOnlyMemory<byte> bytes)
    {
        await _sending.WaitAsync();
        try
        {
            await _transport.WriteAsync(bytes);
        }
        finally
        {
            _sending.Release();
        }
    }

    private static byte[] Number(int number)
    {
        var bytes = new byte[4];
        BinaryPrimitives.WriteInt32BigEndian(bytes, number);
        return bytes;
    }

    /// <summary>
    /// Sends what a frame of the peer asks for; where it has ended the connection, what it said before is still there to be read.
    /// </summary>
    private async Task AnswerAsync(int type, int flags, int id, byte[] payload)
    {
        try
        {
            await SendRawAsync(Frame(type, flags, id, payload));
        }
        catch (Exception exception) when (exception is IOException || IsOfDisposal(exception))
        {
            // Reading on says how it ended.
        }
    }

    /// <summary>While it is being disposed of, a TLS stream says that it is not authenticated.</summary>
    private bool IsOfDisposal(Exception exception) => _isDisposed && exception is InvalidOperationException;

    private async Task ReadAsync()
    {
        Exception? failure = null;
        try
        {
            var header = new byte[HeaderLength];
            while (true)
            {
                await _transport.ReadExactlyAsync(header);
                var payload = new byte[BinaryPrimitives.ReadInt32BigEndian(header) >>> 8];
                await _transport.ReadExactlyAsync(payload);
                await OnFrameAsync(header[3], header[4], BinaryPrimitives.ReadInt32BigEndian(header.AsSpan(5)) & int.MaxValue, payload);
            }
        }
        catch (Exception exception)
            when (exception is IOException or ObjectDisposedException or SocketException || IsOfDisposal(exception))
        {
            failure = exception;
        }
        catch (Exception exception)
        {
            failure = exception;
            throw;
        }
        finally
        {
            _greeted.TrySetException(failure!);
            _ = _greeted.Task.Exception;
            lock (_gate)
            {
                _lost = failure;
                FailFlood(failure!);
                foreach (var stream in _streams.Values)
                {
                    stream.OnLost(failure!);
                }
            }
        }
    }

    private async Task OnFrameAsync(byte type, byte flags, int id, byte[] payload)
    {
        Http2VisitorStream? stream;
        lock (_gate)
        {
            _streams.TryGetValue(id, out stream);
        }

        switch (type)
        {
            case 0:
                stream?.OnData(payload, isLast: (flags & 1) != 0);
                CountFlood(stream, (flags & 1) != 0);
                if (payload.Length > 0 && stream is not null)
                {
                    await AnswerAsync(8, 0, 0, Number(payload.Length));
                    if (stream.IsReading)
                    {
                        await AnswerAsync(8, 0, id, Number(payload.Length));
                    }
                }

                break;
            case 1 or 9:
                _blockEnds = type == 1 ? (flags & 1) != 0 : _blockEnds;
                _block.AddRange(payload);
                if ((flags & 4) != 0)
                {
                    stream?.OnHead(PlainHpack.Decode([.. _block]), isLast: _blockEnds);
                    CountFlood(stream, _blockEnds);
                    _block = [];
                }

                break;
            case 3:
                stream?.OnReset(BinaryPrimitives.ReadUInt32BigEndian(payload));
                if (stream is null)
                {
                    FailFlood(new IOException("A stream of the flood was reset."));
                }

                break;
            case 4 when (flags & 1) == 0:
                OnSettings(payload);
                await AnswerAsync(4, 1, 0, []);
                _greeted.TrySetResult();
                break;
            case 6 when (flags & 1) == 0:
                await AnswerAsync(6, 1, 0, payload);
                break;
            case 7:
                GoneAway = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
                GoAwayCode = BinaryPrimitives.ReadInt32BigEndian(payload.AsSpan(4));
                break;
            case 8:
                OnCredit(stream, id, BinaryPrimitives.ReadInt32BigEndian(payload));
                break;
            default:
                break;
        }
    }

    private void OnSettings(byte[] payload)
    {
        for (var i = 0; i < payload.Length; i += 6)
        {
            Settings[BinaryPrimitives.ReadUInt16BigEndian(payload.AsSpan(i))] = BinaryPrimitives.ReadUInt32BigEndian(payload.AsSpan(i + 2));
        }

        if (Settings.TryGetValue(4, out var window))
        {
            _streamWindow = window;
        }
    }

    private void OnCredit(Http2VisitorStream? stream, int id, int bytes)
    {
        TaskCompletionSource credited;
        lock (_gate)
        {
            if (id == 0)
            {
                _window += bytes;
            }
            else if (stream is not null)
            {
                stream.Window += bytes;
            }

            credited = _credited;
            _credited = new(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        credited.SetResult();
    }
}
