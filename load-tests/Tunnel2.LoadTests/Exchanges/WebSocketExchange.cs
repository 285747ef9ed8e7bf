using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Exchanges;

/// <summary>
/// A WebSocket (RFC 6455) whose messages are echoed: handshake, then one message after another, each sent when the one before has come back
/// whole, then a closing handshake. What comes back may be fragmented in any way.
/// </summary>
internal sealed class WebSocketExchange : Exchange
{
    private const int MaskLength = 4;
    private const byte Final = 0x80;
    private const byte OpcodeBits = 0x0F;
    private const byte Binary = 0x2;
    private const byte Close = 0x8;

    private static readonly byte[] _mask = [0x5A, 0xC3, 0x0F, 0x96];
    private static readonly byte[] _closeFrame = [Final | Close, 0x80, .. _mask];
    private static readonly byte[] _expectedAccept = MakeAccept();

    private readonly byte[][] _heads;
    private readonly int _messages;
    private readonly byte[] _frame;
    private readonly int _headerLength;
    private readonly PatternBody _check;
    private readonly ResponseHeadParser _parser = new();
    private byte[] _head = [];
    private long _index;
    private bool _open;
    private int _echoed;
    private int _frameFor;
    private long _payloadLeft;
    private bool _isFinal;
    private bool _inMessage;

    /// <summary>Makes one.</summary>
    /// <param name="request">The request.</param>
    /// <param name="heads">The head of its handshake for each target.</param>
    public WebSocketExchange(RequestTemplate request, byte[][] heads)
    {
        _heads = heads;
        _messages = request.Size;
        _headerLength = (request.MessageBytes < 126 ? 2 : 4) + MaskLength;
        _frame = new byte[_headerLength + request.MessageBytes];
        _check = new PatternBody(request.MessageBytes, varies: true);
        WriteFrameHeader(request.MessageBytes);
    }

    /// <inheritdoc/>
    public override int Produce(long offset, Span<byte> destination)
    {
        if (offset < _head.Length)
        {
            return Copy(_head, offset, destination);
        }

        var afterHead = offset - _head.Length;
        var frame = afterHead / _frame.Length;
        if (!_open || frame > _echoed)
        {
            return 0;
        }

        if (frame < _messages)
        {
            MakeFrame((int)frame);
            return Copy(_frame, afterHead % _frame.Length, destination);
        }

        var inClose = afterHead - ((long)_messages * _frame.Length);
        return inClose < _closeFrame.Length ? Copy(_closeFrame, inClose, destination) : 0;
    }

    /// <inheritdoc/>
    protected override void OnBegin(long index, int target)
    {
        (_head, _index, _open, _echoed, _frameFor, _payloadLeft, _inMessage) = (_heads[target], index, false, 0, -1, 0, false);
        _parser.Reset(KnownMethod.Get);
        _check.Begin(MessageNumber(0));
    }

    /// <inheritdoc/>
    protected override ExchangeStatus OnReceive(ReadOnlySpan<byte> bytes, out int consumed)
    {
        consumed = 0;
        var status = ExchangeStatus.NeedMore;
        if (!_open)
        {
            status = TakeHead(bytes, ref consumed);
            if (!_open)
            {
                return status;
            }
        }

        while (true)
        {
            if (_payloadLeft == 0 && !TryTakeFrameHeader(bytes, ref consumed, ref status))
            {
                return status;
            }

            var length = (int)Math.Min(_payloadLeft, bytes.Length - consumed);
            if (_check.Take(bytes.Slice(consumed, length)) != FailureKind.None)
            {
                return Fail(FailureKind.WrongBody, "a message came back changed");
            }

            BodyBytes += length;
            consumed += length;
            _payloadLeft -= length;
            if (_payloadLeft > 0)
            {
                return status;
            }

            if (_isFinal)
            {
                if (!_check.IsComplete)
                {
                    return Fail(FailureKind.WrongBody, "a message came back shorter");
                }

                _inMessage = false;
                _check.Begin(MessageNumber(++_echoed));
                status = ExchangeStatus.Send;
            }
        }
    }

    private ExchangeStatus TakeHead(ReadOnlySpan<byte> bytes, ref int consumed)
    {
        var status = _parser.Parse(bytes, out var length);
        if (status == ParseStatus.NeedMore)
        {
            return ExchangeStatus.NeedMore;
        }

        if (status == ParseStatus.Invalid)
        {
            return Fail(FailureKind.Malformed, _parser.Error.ToString());
        }

        if (_parser.StatusCode != 101)
        {
            return Fail(FailureKind.WrongStatus, _parser.StatusCode.ToString(CultureInfo.InvariantCulture));
        }

        if (!_parser.IsUpgrade || !HasAccept(bytes))
        {
            return Fail(FailureKind.Malformed, "not the WebSocket handshake's answer");
        }

        consumed = length;
        _open = true;
        return ExchangeStatus.Send;
    }

    private bool HasAccept(ReadOnlySpan<byte> head)
    {
        foreach (ref readonly var field in _parser.Fields)
        {
            if (field.Known == KnownField.SecWebSocketAccept)
            {
                return field.Value(head).SequenceEqual(_expectedAccept);
            }
        }

        return false;
    }

    /// <returns>False: the loop ends with <paramref name="status"/>.</returns>
    private bool TryTakeFrameHeader(ReadOnlySpan<byte> bytes, ref int consumed, ref ExchangeStatus status)
    {
        var rest = bytes[consumed..];
        if (rest.Length < 2)
        {
            return false;
        }

        // The top bit of the second byte is the mask's, which a server must not set (RFC 6455 section 5.1).
        var opcode = rest[0] & OpcodeBits;
        var headerLength = rest[1] switch { < 126 => 2, 126 => 4, _ => 0 };
        if (headerLength == 0 || (opcode != Close && opcode != (_inMessage ? 0 : Binary)))
        {
            status = Fail(FailureKind.Malformed, "not a frame that was expected");
            return false;
        }

        if (rest.Length < headerLength)
        {
            return false;
        }

        if (opcode == Close)
        {
            status = _echoed == _messages && !_inMessage
                ? ExchangeStatus.Done
                : Fail(FailureKind.Truncated, "closed before all messages came back");
            consumed = bytes.Length;
            return false;
        }

        _payloadLeft = headerLength == 2 ? rest[1] : BinaryPrimitives.ReadUInt16BigEndian(rest[2..]);
        _isFinal = (rest[0] & Final) != 0;
        _inMessage = true;
        consumed += headerLength;
        return true;
    }

    private long MessageNumber(int message) => (_index * _messages) + message;

    private void WriteFrameHeader(int length)
    {
        const byte Masked = 0x80;
        _frame[0] = Final | Binary;
        _frame[1] = (byte)(Masked | (length < 126 ? length : 126));
        if (length >= 126)
        {
            BinaryPrimitives.WriteUInt16BigEndian(_frame.AsSpan(2), checked((ushort)length));
        }

        _mask.CopyTo(_frame.AsSpan(_headerLength - MaskLength));
    }

    private void MakeFrame(int message)
    {
        if (_frameFor == message)
        {
            return;
        }

        var payload = _frame.AsSpan(_headerLength);
        PatternBytes.Fill(payload, PatternBody.StartOf(MessageNumber(message)));
        for (var i = 0; i < payload.Length; i++)
        {
            payload[i] ^= _mask[i & 3];
        }

        _frameFor = message;
    }

    private static int Copy(byte[] source, long offset, Span<byte> destination)
    {
        var length = Math.Min(source.Length - (int)offset, destination.Length);
        source.AsSpan((int)offset, length).CopyTo(destination);
        return length;
    }

    [SuppressMessage(
        "Security", "CA5350", Justification = "The handshake of RFC 6455 section 4.2.2 is defined with SHA-1; it protects nothing.")]
    private static byte[] MakeAccept()
    {
        return Encoding.ASCII.GetBytes(
            Convert.ToBase64String(
                SHA1.HashData(Encoding.ASCII.GetBytes(RequestHeads.WebSocketKey + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))));
    }
}
