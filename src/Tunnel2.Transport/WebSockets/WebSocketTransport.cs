using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Transport.WebSockets;

/// <summary>
/// The bytes of an uplink inside the binary messages of a WebSocket, after its opening handshake. Messages are cut as it suits: the uplink
/// sees one stream of bytes. It continues where the transport below it does. Pings are answered between two messages, only the last one,
/// and neither side of the uplink waits for that. A Close of the peer is answered when the uplink ends for it. Then, as after broken
/// frames, the connection ends so that our Close arrives.
/// </summary>
internal sealed class WebSocketTransport : IUplinkTransport
{
    /// <summary>The payload of one message: with its header it fills a buffer of 16 KiB, which every middlebox takes.</summary>
    private const int MessageLength = (16 * 1024) - WebSocketFrameHeader.MaxSize;

    /// <summary>Messages that leave together.</summary>
    private const int BatchLength = 64 * 1024;

    private const int NormalClosure = 1000;
    private const int GoingAway = 1001;
    private const int ProtocolError = 1002;
    private const int UnsupportedData = 1003;
    private const int NoCode = 1005;

    private readonly IUplinkTransport _transport;
    private readonly bool _isClient;
    private readonly WebSocketDecoder _decoder;
    private readonly Lock _gate = new();
    private readonly TimeProvider _timeProvider;

    /// <summary>Our Close has left, or cannot any more.</summary>
    private readonly TaskCompletionSource _closeLeft = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>The end after the peer's is over.</summary>
    private readonly TaskCompletionSource _left = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly byte[] _masks = new byte[64 * WebSocketFrameHeader.MaskSize];

    /// <summary>Bytes that came with the answer to the opening handshake.</summary>
    private ReadOnlyMemory<byte> _initial;

    /// <summary>How many of the masks are used; guarded by the turn to send.</summary>
    private int _masksUsed;

    /// <summary>Whether a send holds the turn; guarded by the gate, as all that follows.</summary>
    private bool _isSending;
    private TaskCompletionSource? _waiting;
    private byte[]? _pong;
    private int _closeWith;
    private bool _hasClosed;

    /// <summary>The peer's Close has come, or a frame that ends the connection: no receive runs below any more.</summary>
    private bool _peerEnded;
    private bool _isLeaving;
    private Task _control = Task.CompletedTask;

    /// <summary>Takes over a connection after its opening handshake.</summary>
    /// <param name="transport">The connection.</param>
    /// <param name="isClient">Whether this side masks its frames.</param>
    /// <param name="initial">Bytes that arrived after the handshake.</param>
    /// <param name="timeProvider">The clock of its end; null: the system's.</param>
    public WebSocketTransport(
        IUplinkTransport transport, bool isClient, ReadOnlyMemory<byte> initial = default, TimeProvider? timeProvider = null)
    {
        _transport = transport;
        _timeProvider = timeProvider ?? TimeProvider.System;
        _isClient = isClient;
        _initial = initial;
        _decoder = new WebSocketDecoder(expectsMask: !isClient);
        _masksUsed = _masks.Length;
    }

    /// <inheritdoc/>
    public string RemoteName => _transport.RemoteName;

    /// <inheritdoc/>
    public long RetransmittedSegments => _transport.RetransmittedSegments;

    /// <inheritdoc/>
    public PipeScheduler? Home => _transport.Home;

    /// <inheritdoc/>
    public bool TryMoveTo(PipeScheduler home) => _transport.TryMoveTo(home);

    /// <inheritdoc/>
    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        if (_decoder.HasEnded || !_initial.IsEmpty)
        {
            return buffer.IsEmpty ? new ValueTask<int>(0) : ReceiveMoreAsync(buffer);
        }

        var receive = _transport.ReceiveAsync(buffer);
        if (buffer.IsEmpty || !receive.IsCompletedSuccessfully)
        {
            return buffer.IsEmpty ? receive : AwaitReceiveAsync(receive, buffer);
        }

        var received = receive.Result;
        var count = Decode(buffer.Span[..received]);
        return count > 0 || received == 0 ? new ValueTask<int>(count) : ReceiveMoreAsync(buffer);
    }

    /// <inheritdoc/>
    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        var turn = Task.CompletedTask;
        lock (_gate)
        {
            if (_isSending)
            {
                // A pong is on its way; this send gets the turn from it.
                _waiting = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                turn = _waiting.Task;
            }

            _isSending = true;
        }

        return SendMessagesAsync(buffer, turn);
    }

    /// <inheritdoc/>
    public void ShutdownSend() => Close(NormalClosure);

    /// <inheritdoc/>
    /// <remarks>
    /// Where the peer has ended, our Close still leaves and the peer has a moment to close (RFC 6455 section 7.1.1): with its bytes
    /// unread a close is a reset, which may destroy our Close.
    /// </remarks>
    public void Abort()
    {
        bool isAtOnce;
        bool begins;
        lock (_gate)
        {
            isAtOnce = !_peerEnded;
            begins = _peerEnded && !_isLeaving;
            _isLeaving |= _peerEnded;
        }

        if (isAtOnce)
        {
            _transport.Abort();
        }
        else if (begins)
        {
            Close(_decoder.CloseCode);
            _ = LeaveAsync();
        }
    }

    /// <inheritdoc/>
    public void Discard() => _transport.Discard();

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        Abort();
        bool isLeaving;
        Task control;
        lock (_gate)
        {
            isLeaving = _isLeaving;
            control = _control;
        }

        if (isLeaving)
        {
            await _left.Task.ConfigureAwait(false);
        }

        await control.ConfigureAwait(false);
        await _transport.DisposeAsync().ConfigureAwait(false);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<int> AwaitReceiveAsync(ValueTask<int> receive, Memory<byte> buffer)
    {
        var received = await receive.ConfigureAwait(false);
        var count = Decode(buffer.Span[..received]);
        return count > 0 || received == 0 ? count : await ReceiveMoreAsync(buffer).ConfigureAwait(false);
    }

    /// <summary>Receives until there is payload: what came so far were headers and control frames.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<int> ReceiveMoreAsync(Memory<byte> buffer)
    {
        while (!_decoder.HasEnded)
        {
            int received;
            if (_initial.IsEmpty)
            {
                received = await _transport.ReceiveAsync(buffer).ConfigureAwait(false);
            }
            else
            {
                received = Math.Min(buffer.Length, _initial.Length);
                _initial[..received].CopyTo(buffer);
                _initial = _initial[received..];
            }

            var count = Decode(buffer.Span[..received]);
            if (count > 0 || received == 0)
            {
                return count;
            }
        }

        return _decoder switch
        {
            { Fault: not WebSocketFault.None and var fault } => throw new IOException(WebSocketFaultWords.For(fault)),
            { CloseCode: NormalClosure or GoingAway or NoCode } => 0,
            { CloseText: var text } => throw new IOException(
                $"The WebSocket was closed with code {_decoder.CloseCode}{(text.Length > 0 ? ": " : "")}{text}"),
        };
    }

    private int Decode(Span<byte> bytes)
    {
        var count = _decoder.Decode(bytes);
        if (_decoder.TakePing() is { } ping)
        {
            Reply(ping);
        }

        if (_decoder.HasEnded)
        {
            lock (_gate)
            {
                _peerEnded = true;
            }
        }

        if (_decoder.Fault != WebSocketFault.None)
        {
            Close(_decoder.Fault == WebSocketFault.Text ? UnsupportedData : ProtocolError);
        }

        return count;
    }

    private void Reply(byte[] ping)
    {
        bool begins;
        lock (_gate)
        {
            _pong = ping;
            begins = !_isSending;
            _isSending = true;
        }

        BeginControl(begins);
    }

    private void Close(int code)
    {
        bool begins;
        lock (_gate)
        {
            if (_closeWith != 0)
            {
                return;
            }

            _closeWith = code;
            begins = !_isSending;
            _isSending = true;
        }

        BeginControl(begins);
    }

    /// <summary>Sends control frames now if it has got the turn; otherwise the send that runs does it.</summary>
    private void BeginControl(bool hasTurn)
    {
        if (hasTurn)
        {
            _control = SendControlAsync();
        }
    }

    /// <summary>Sends what is wanted of control frames, and gives up the turn. Contains its failures: the reader notices them.</summary>
    private async Task SendControlAsync()
    {
        try
        {
            await EndTurnAsync().ConfigureAwait(false);
        }
        catch (IOException)
        {
            // The connection has gone.
        }
    }

    /// <summary>Gives the turn to a send that waits, or sends control frames until none is wanted.</summary>
    private async ValueTask EndTurnAsync()
    {
        while (true)
        {
            byte[] frame;
            lock (_gate)
            {
                if (_waiting is { } waiting)
                {
                    _waiting = null;
                    waiting.SetResult();
                    return;
                }

                if (_hasClosed || (_pong is null && _closeWith == 0))
                {
                    _isSending = false;
                    return;
                }

                frame = TakeControlUnsynchronized();
            }

            try
            {
                await _transport.SendAsync(frame).ConfigureAwait(false);
            }
            catch
            {
                DropControl();
                throw;
            }

            if (_hasClosed)
            {
                _closeLeft.TrySetResult();
            }
        }
    }

    /// <summary>
    /// The end of a connection whose peer has ended: our Close, the end of our direction, and what still comes is dropped.
    /// </summary>
    private async Task LeaveAsync()
    {
        try
        {
            using (var limit = new CancellationTokenSource(Lingering.Limit, _timeProvider))
            using (limit.Token.UnsafeRegister(static transport => ((IUplinkTransport)transport!).Abort(), _transport))
            {
                await _closeLeft.Task.ConfigureAwait(false);
            }

            _transport.ShutdownSend();
            await Lingering.DropAsync(_transport, _timeProvider).ConfigureAwait(false);
        }
        finally
        {
            _left.TrySetResult();
        }
    }

    /// <summary>The next control frame: a pong before the end, and nothing after that.</summary>
    private byte[] TakeControlUnsynchronized()
    {
        if (_pong is { } pong)
        {
            _pong = null;
            return Frame(WebSocketFrameHeader.Pong, pong);
        }

        _hasClosed = true;
        return Frame(WebSocketFrameHeader.Close, _closeWith == NoCode ? [] : [(byte)(_closeWith >> 8), (byte)_closeWith]);
    }

    /// <summary>The connection failed: a send that waits finds that out by itself.</summary>
    private void DropControl()
    {
        lock (_gate)
        {
            _pong = null;
            _hasClosed = true;
            if (_waiting is { } waiting)
            {
                _waiting = null;
                waiting.SetResult();
            }
            else
            {
                _isSending = false;
            }
        }

        _closeLeft.TrySetResult();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask SendMessagesAsync(ReadOnlyMemory<byte> bytes, Task turn)
    {
        await turn.ConfigureAwait(false);
        var messages = (bytes.Length / MessageLength) + 1;
        var buffer = BufferPool.Shared.Rent(Math.Min(BatchLength, bytes.Length + (messages * WebSocketFrameHeader.MaxSize)));
        try
        {
            while (!bytes.IsEmpty && MaySend())
            {
                var filled = 0;
                while (!bytes.IsEmpty && buffer.Length - filled > WebSocketFrameHeader.MaxSize)
                {
                    var room = Math.Min(MessageLength, buffer.Length - filled - WebSocketFrameHeader.MaxSize);
                    var length = Math.Min(bytes.Length, room);
                    filled += Write(buffer.AsSpan(filled), WebSocketFrameHeader.Binary, bytes.Span[..length]);
                    bytes = bytes[length..];
                }

                await _transport.SendAsync(buffer.AsMemory(0, filled)).ConfigureAwait(false);
            }
        }
        catch
        {
            DropControl();
            throw;
        }
        finally
        {
            BufferPool.Shared.Return(buffer);
        }

        await EndTurnAsync().ConfigureAwait(false);
        if (!bytes.IsEmpty && Volatile.Read(ref _isLeaving))
        {
            throw new IOException("The WebSocket was closed.");
        }
    }

    /// <summary>Whether messages may still leave: none after our Close; the uplink learns the reason from its reader.</summary>
    private bool MaySend()
    {
        lock (_gate)
        {
            return !_isLeaving && !(_peerEnded && _hasClosed);
        }
    }

    private byte[] Frame(int opcode, ReadOnlySpan<byte> payload)
    {
        Span<byte> frame = stackalloc byte[WebSocketFrameHeader.MaxSize + WebSocketFrameHeader.MaxShortLength];
        return frame[..Write(frame, opcode, payload)].ToArray();
    }

    /// <summary>Writes a frame; the caller has the turn, which guards the masks.</summary>
    private int Write(Span<byte> destination, int opcode, ReadOnlySpan<byte> payload)
    {
        var mask = _isClient ? NextMask() : default;
        var size = WebSocketFrameHeader.Write(destination, opcode, payload.Length, mask);
        var body = destination.Slice(size, payload.Length);
        payload.CopyTo(body);
        if (_isClient)
        {
            WebSocketMask.Apply(body, mask, 0);
        }

        return size + payload.Length;
    }

    /// <summary>A mask that no application can predict (RFC 6455 section 10.3); several are drawn at once.</summary>
    private ReadOnlySpan<byte> NextMask()
    {
        if (_masksUsed == _masks.Length)
        {
            RandomNumberGenerator.Fill(_masks);
            _masksUsed = 0;
        }

        _masksUsed += WebSocketFrameHeader.MaskSize;
        return _masks.AsSpan(_masksUsed - WebSocketFrameHeader.MaskSize, WebSocketFrameHeader.MaskSize);
    }
}
