using System.Buffers;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.ProxyEntry.WebSockets;

/// <summary>What the next bytes of a subscriber are.</summary>
internal enum ClientFrameKind
{
    /// <summary>More bytes are needed.</summary>
    Incomplete,

    /// <summary>A whole text message.</summary>
    Text,

    /// <summary>A ping; its payload must be sent back.</summary>
    Ping,

    /// <summary>A pong.</summary>
    Pong,

    /// <summary>The subscriber closes.</summary>
    Close,

    /// <summary>A message longer than the limit (1009).</summary>
    TooBig,

    /// <summary>A binary message (1003).</summary>
    Binary,

    /// <summary>Not the WebSocket protocol (1002).</summary>
    Broken,
}

/// <summary>
/// Parses a client's frames (RFC 6455 section 5) and joins the fragments of a text message, up to a limit. It holds a buffer only while a
/// message is incomplete. Not thread-safe.
/// </summary>
internal sealed class ClientFrameReader : IDisposable
{
    /// <summary>The longest message in bytes; the buffer has room for it in one frame.</summary>
    public const int MaxMessage = 4096;

    private const int Capacity = 2 * MaxMessage;

    private byte[]? _buffer;
    private byte[]? _message;
    private int _start;
    private int _end;
    private int _messageLength;
    private bool _inMessage;

    /// <summary>Memory for received bytes; at least one byte.</summary>
    public Memory<byte> GetMemory()
    {
        _buffer ??= ArrayPool<byte>.Shared.Rent(Capacity);
        if (_start > 0)
        {
            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            _end -= _start;
            _start = 0;
        }

        return _buffer.AsMemory(_end);
    }

    /// <summary>Adds a number of received bytes.</summary>
    public void Advance(int length) => _end += length;

    /// <summary>Reads the next frame or message; the payload is valid until the next call of any method.</summary>
    public ClientFrameKind TryRead(out ReadOnlySpan<byte> payload)
    {
        while (true)
        {
            var kind = TryReadFrame(out payload, out var goesOn);
            if (!goesOn)
            {
                return kind;
            }
        }
    }

    /// <summary>Gives the buffer back when it is empty: an idle subscriber holds none.</summary>
    public void ReleaseIfEmpty()
    {
        if (_buffer is not null && _start == _end)
        {
            ArrayPool<byte>.Shared.Return(_buffer);
            _buffer = null;
            _start = _end = 0;
        }

        if (_message is not null && !_inMessage)
        {
            ArrayPool<byte>.Shared.Return(_message);
            _message = null;
        }
    }

    public void Dispose()
    {
        _start = _end = 0;
        _inMessage = false;
        ReleaseIfEmpty();
    }

    private ClientFrameKind TryReadFrame(out ReadOnlySpan<byte> payload, out bool goesOn)
    {
        payload = default;
        goesOn = false;
        var data = _buffer.AsSpan(_start, _end - _start);
        if (data.Length < WebSocketFrameHeader.FixedSize)
        {
            return ClientFrameKind.Incomplete;
        }

        var header = new WebSocketFrameHeader(data[0], data[1]);
        var (isFinal, isControl) = (header.IsFinal, header.IsControl);

        // No extension was agreed on, clients must mask, and control frames must be short and not fragmented.
        if (header.IsExtended || !header.IsMasked || (isControl && (!isFinal || !header.IsShort)) || !IsKnown(header.Opcode))
        {
            return ClientFrameKind.Broken;
        }

        if (header.Opcode == WebSocketFrameHeader.Binary)
        {
            return ClientFrameKind.Binary;
        }

        if (!isControl && (header.Opcode == WebSocketFrameHeader.Continuation) != _inMessage)
        {
            return ClientFrameKind.Broken;
        }

        var head = header.Size;
        if (data.Length < head)
        {
            return ClientFrameKind.Incomplete;
        }

        var length = header.PayloadLength(data);
        if (length < 0 || !header.IsShortestFormOf(length))
        {
            return ClientFrameKind.Broken;
        }

        if (!isControl && length + (_inMessage ? _messageLength : 0) > MaxMessage)
        {
            return ClientFrameKind.TooBig;
        }

        if (data.Length < head + length)
        {
            return ClientFrameKind.Incomplete;
        }

        var body = data.Slice(head, (int)length);
        WebSocketMask.Apply(body, header.Mask(data), 0);
        _start += head + (int)length;
        if (isControl)
        {
            payload = body;
            return header.Opcode switch
            {
                WebSocketFrame.Close => ClientFrameKind.Close,
                WebSocketFrame.Ping => ClientFrameKind.Ping,
                _ => ClientFrameKind.Pong,
            };
        }

        if (isFinal && !_inMessage)
        {
            payload = body;
            return ClientFrameKind.Text;
        }

        _message ??= ArrayPool<byte>.Shared.Rent(MaxMessage);
        _messageLength = _inMessage ? _messageLength : 0;
        body.CopyTo(_message.AsSpan(_messageLength));
        _messageLength += body.Length;
        _inMessage = !isFinal;
        goesOn = !isFinal;
        payload = _message.AsSpan(0, _messageLength);
        return ClientFrameKind.Text;
    }

    private static bool IsKnown(int opcode) => opcode
        is WebSocketFrameHeader.Continuation or WebSocketFrame.Text or WebSocketFrameHeader.Binary
        or WebSocketFrame.Close or WebSocketFrame.Ping or WebSocketFrame.Pong;
}
