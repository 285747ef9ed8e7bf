using System.Buffers;
using System.Buffers.Binary;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>What a subscriber's bytes turned out to be.</summary>
internal enum ClientFrameKind
{
    /// <summary>More bytes are needed.</summary>
    Incomplete,

    /// <summary>A whole text message.</summary>
    Text,

    /// <summary>A ping; its payload wants to be sent back.</summary>
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
/// Takes a client's frames apart (RFC 6455 section 5) and puts fragments of a text message together, up to a limit. It holds a buffer only
/// while a message is incomplete. Not thread-safe.
/// </summary>
internal sealed class ClientFrameReader : IDisposable
{
    /// <summary>The longest message, and room for one frame of it.</summary>
    public const int MaxMessage = 4096;

    private const int Capacity = 2 * MaxMessage;

    private byte[]? _buffer;
    private byte[]? _message;
    private int _start;
    private int _end;
    private int _messageLength;
    private bool _inMessage;

    /// <summary>Where received bytes go; at least one byte of room.</summary>
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

    /// <summary>So many bytes were received.</summary>
    public void Advance(int length) => _end += length;

    /// <summary>Takes the next frame or message out; the payload is valid until the next call of any method.</summary>
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

    /// <summary>Gives the buffer back when nothing is in it: an idle subscriber holds none.</summary>
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
        if (data.Length < 2)
        {
            return ClientFrameKind.Incomplete;
        }

        var isFinal = (data[0] & 0x80) != 0;
        var opcode = data[0] & 0x0F;
        var isControl = opcode >= 8;
        long length = data[1] & 0x7F;
        var head = length switch { 126 => 4, 127 => 10, _ => 2 } + 4;

        // No extension was agreed on, clients mask, and control frames are short and whole.
        if ((data[0] & 0x70) != 0 || (data[1] & 0x80) == 0 || (isControl && (!isFinal || length > 125)) || opcode is (> 2 and < 8) or > 10)
        {
            return ClientFrameKind.Broken;
        }

        if (opcode == 2)
        {
            return ClientFrameKind.Binary;
        }

        if (!isControl && (opcode == 0) != _inMessage)
        {
            return ClientFrameKind.Broken;
        }

        if (data.Length < head)
        {
            return ClientFrameKind.Incomplete;
        }

        length = length switch
        {
            126 => BinaryPrimitives.ReadUInt16BigEndian(data[2..]),
            127 => BinaryPrimitives.ReadInt64BigEndian(data[2..]),
            _ => length,
        };
        if (length < 0 || (!isControl && length + (_inMessage ? _messageLength : 0) > MaxMessage))
        {
            return length < 0 ? ClientFrameKind.Broken : ClientFrameKind.TooBig;
        }

        if (data.Length < head + length)
        {
            return ClientFrameKind.Incomplete;
        }

        var body = data.Slice(head, (int)length);
        Unmask(body, data.Slice(head - 4, 4));
        _start += head + (int)length;
        if (isControl)
        {
            payload = body;
            return opcode switch { 8 => ClientFrameKind.Close, 9 => ClientFrameKind.Ping, _ => ClientFrameKind.Pong };
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

    private static void Unmask(Span<byte> body, ReadOnlySpan<byte> mask)
    {
        for (var i = 0; i < body.Length; i++)
        {
            body[i] ^= mask[i & 3];
        }
    }
}
