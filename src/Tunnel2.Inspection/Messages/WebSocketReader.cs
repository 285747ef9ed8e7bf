using System.Buffers.Binary;

namespace Tunnel2.Inspection.Messages;

/// <summary>
/// Reads the messages of one direction of a WebSocket as its bytes pass (RFC 6455 section 5): fragments, control frames between them,
/// masks, extended lengths. It holds the beginning of one message. Bytes that are no frames end it, and nothing else. Not thread-safe.
/// </summary>
internal sealed class WebSocketReader
{
    private const int MaxHeader = 14;
    private const int MaxControl = 125;

    private readonly bool _fromVisitor;
    private readonly IMessageSink _sink;
    private readonly MessageBuffer _message;
    private readonly MessageBuffer _control;
    private readonly byte[] _header = new byte[MaxHeader];
    private readonly byte[] _mask = new byte[4];
    private int _headerLength;
    private bool _inPayload;
    private long _remaining;
    private int _maskAt;
    private bool _isMasked;
    private bool _isFinal;
    private int _opcode;
    private int _messageOpcode;
    private bool _isCompressed;
    private bool _isBroken;
    private bool _sharesWindow;
    private MessageInflater? _inflater;
    private long _passed;

    /// <param name="fromVisitor">Whether the visitor sends what is read.</param>
    /// <param name="sink">Takes the messages.</param>
    /// <param name="limit">How many bytes of a message are kept.</param>
    /// <param name="sharesWindow">Whether compressed messages need those before them: then all are decompressed as they pass.</param>
    public WebSocketReader(bool fromVisitor, IMessageSink sink, int limit, bool sharesWindow = false)
    {
        _sharesWindow = sharesWindow;
        _fromVisitor = fromVisitor;
        _sink = sink;
        _message = new MessageBuffer(sink, limit);
        _control = new MessageBuffer(sink, MaxControl);
    }

    /// <summary>Reads the next bytes of the direction.</summary>
    public void Read(ReadOnlySpan<byte> data)
    {
        while (!data.IsEmpty && !_isBroken)
        {
            data = data[(_inPayload ? ReadPayload(data) : ReadHeader(data))..];
        }
    }

    /// <summary>Gives back what is held of a message that will not end.</summary>
    public void End()
    {
        _message.Reset();
        _control.Reset();
        StopInflating();
    }

    /// <summary>Lets go of the largest part of its memory; from any thread.</summary>
    public void Release() => Volatile.Read(ref _inflater)?.Release();

    private int ReadHeader(ReadOnlySpan<byte> data)
    {
        var taken = 0;
        var size = HeaderSize();
        while (taken < data.Length && _headerLength < size)
        {
            _header[_headerLength++] = data[taken++];
            size = HeaderSize();
        }

        if (_headerLength == size)
        {
            BeginFrame(size);
        }

        return taken;
    }

    private int HeaderSize()
    {
        if (_headerLength < 2)
        {
            return 2;
        }

        var code = _header[1] & 0x7F;
        return 2 + (code == 126 ? 2 : code == 127 ? 8 : 0) + ((_header[1] & 0x80) != 0 ? 4 : 0);
    }

    private void BeginFrame(int size)
    {
        _headerLength = 0;
        _isFinal = (_header[0] & 0x80) != 0;
        _opcode = _header[0] & 0x0F;
        _isMasked = (_header[1] & 0x80) != 0;
        _maskAt = 0;
        _remaining = (_header[1] & 0x7F) switch
        {
            126 => BinaryPrimitives.ReadUInt16BigEndian(_header.AsSpan(2)),
            127 => BinaryPrimitives.ReadInt64BigEndian(_header.AsSpan(2)),
            var code => code,
        };
        if (_isMasked)
        {
            _header.AsSpan(size - 4, 4).CopyTo(_mask);
        }

        var isControl = _opcode >= 8;
        var isContinuation = _opcode == 0;
        if (_remaining < 0
            || _opcode is (> 2 and < 8) or > 10
            || (isControl && (!_isFinal || _remaining > MaxControl))
            || (!isControl && isContinuation != (_messageOpcode != 0)))
        {
            _isBroken = true;
            End();
            _sink.OnMessage(_fromVisitor, MessageKind.Broken, default, 0, false);
            return;
        }

        if (!isControl && !isContinuation)
        {
            _messageOpcode = _opcode;
            _isCompressed = (_header[0] & 0x40) != 0;
            _passed = 0;
            if (_isCompressed && _sharesWindow && _inflater is null)
            {
                Volatile.Write(ref _inflater, MessageInflater.TryCreate(_sink));
                _sharesWindow = _inflater is not null;
            }
        }

        _inPayload = true;
        if (_remaining == 0)
        {
            EndFrame();
        }
    }

    private int ReadPayload(ReadOnlySpan<byte> data)
    {
        var taken = (int)Math.Min(_remaining, data.Length);
        if (_opcode < 8 && _isCompressed && _inflater is { } inflater)
        {
            var piece = data[..taken].ToArray();
            Unmask(piece);
            if (!inflater.TryRead(piece, _message))
            {
                StopInflating();
            }
        }
        else
        {
            Unmask((_opcode >= 8 ? _control : _message).Append(data[..taken]));
        }

        _passed += _opcode < 8 ? taken : 0;
        _maskAt = (_maskAt + taken) & 3;
        _remaining -= taken;
        if (_remaining == 0)
        {
            EndFrame();
        }

        return taken;
    }

    private void Unmask(Span<byte> bytes)
    {
        for (var i = 0; _isMasked && i < bytes.Length; i++)
        {
            bytes[i] ^= _mask[(_maskAt + i) & 3];
        }
    }

    /// <summary>What follows cannot be read without what is lost here.</summary>
    private void StopInflating()
    {
        _sharesWindow = false;
        if (_inflater is { } inflater)
        {
            inflater.Release();
            Volatile.Write(ref _inflater, null);
            _message.Reset();
        }
    }

    private void EndFrame()
    {
        _inPayload = false;
        if (_opcode >= 8)
        {
            Report(_control, _opcode switch { 8 => MessageKind.Close, 9 => MessageKind.Ping, _ => MessageKind.Pong });
        }
        else if (_isFinal)
        {
            if (_isCompressed && _inflater is { } inflater && !inflater.TryEnd(_message))
            {
                StopInflating();
            }

            var isInflated = _isCompressed && _inflater is not null;
            var kind = _messageOpcode == 1 ? MessageKind.Text : MessageKind.Binary;
            _sink.OnMessage(
                _fromVisitor, kind, _message.Kept, _passed, _isCompressed && !isInflated, isInflated ? _message.Length : null);
            _message.Reset();
            _messageOpcode = 0;
        }
    }

    private void Report(MessageBuffer buffer, MessageKind kind)
    {
        _sink.OnMessage(_fromVisitor, kind, buffer.Kept, buffer.Length, false);
        buffer.Reset();
    }
}
