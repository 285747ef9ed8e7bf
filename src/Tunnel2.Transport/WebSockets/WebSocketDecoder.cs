using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Unicode;
using Tunnel2.Protocol;

namespace Tunnel2.Transport.WebSockets;

/// <summary>
/// Takes the payload out of the frames of one direction of a WebSocket (RFC 6455 section 5), in place and in pieces of any size. Binary
/// messages are a stream of bytes here: where one ends and how it is fragmented means nothing. Holds no more than a header and a control
/// frame. Not thread-safe.
/// </summary>
internal sealed class WebSocketDecoder
{
    /// <summary>How many frames in a row may carry nothing. The uplink's own frames come every few seconds.</summary>
    public const int MostIdleFrames = 1_000;

    /// <summary>The code of a Close frame without one (RFC 6455 section 7.1.5).</summary>
    private const int NoCode = 1005;

    private readonly bool _expectsMask;
    private readonly byte[] _control = new byte[WebSocketFrameHeader.MaxShortLength];
    private HeaderBytes _header;

    /// <summary>Header bytes received of the current frame.</summary>
    private int _headerLength;

    /// <summary>Header bytes of the current frame in all; known from its second byte on.</summary>
    private int _headerSize;
    private long _payloadLength;
    private long _payloadRead;
    private int _controlLength;
    private int _idleFrames;
    private bool _inPayload;
    private bool _inMessage;
    private byte[]? _ping;

    /// <param name="expectsMask">Whether the peer is a client, whose frames are masked.</param>
    public WebSocketDecoder(bool expectsMask) => _expectsMask = expectsMask;

    /// <summary>How the frames were broken; nothing is read after that.</summary>
    public WebSocketFault Fault { get; private set; }

    /// <summary>The code of the peer's Close frame; 0 before it. Bytes after it are dropped.</summary>
    public int CloseCode { get; private set; }

    /// <summary>The peer's reason in its Close frame, cleaned.</summary>
    public string CloseText { get; private set; } = "";

    /// <summary>Whether no payload follows.</summary>
    public bool HasEnded => Fault != WebSocketFault.None || CloseCode != 0;

    /// <summary>Takes the payload of the last ping that is not answered yet, or null.</summary>
    public byte[]? TakePing()
    {
        var ping = _ping;
        _ping = null;
        return ping;
    }

    /// <summary>Decodes received bytes in place.</summary>
    /// <returns>How many bytes of payload are now at the beginning of <paramref name="bytes"/>.</returns>
    public int Decode(Span<byte> bytes)
    {
        var (read, written) = (0, 0);
        while (read < bytes.Length && !HasEnded)
        {
            if (!_inPayload)
            {
                OnHeaderByte(bytes[read++]);
                continue;
            }

            var header = Header;
            var count = (int)Math.Min(_payloadLength - _payloadRead, bytes.Length - read);
            var piece = bytes.Slice(read, count);
            if (header.IsMasked)
            {
                WebSocketMask.Apply(piece, header.Mask(_header), _payloadRead);
            }

            if (header.IsControl)
            {
                piece.CopyTo(_control.AsSpan(_controlLength));
                _controlLength += count;
            }
            else
            {
                piece.CopyTo(bytes[written..]);
                written += count;
                _idleFrames = 0;
            }

            read += count;
            _payloadRead += count;
            if (_payloadRead == _payloadLength)
            {
                EndFrame(header);
            }
        }

        return written;
    }

    private WebSocketFrameHeader Header => new(_header[0], _header[1]);

    private void OnHeaderByte(byte value)
    {
        _header[_headerLength++] = value;
        if (_headerLength < WebSocketFrameHeader.FixedSize)
        {
            return;
        }

        var header = Header;
        if (_headerLength == WebSocketFrameHeader.FixedSize)
        {
            Fault = Judge(header);
            _headerSize = header.Size;
        }

        if (_headerLength < _headerSize || Fault != WebSocketFault.None)
        {
            return;
        }

        _payloadLength = header.PayloadLength(_header);
        if (_payloadLength < 0 || !header.IsShortestFormOf(_payloadLength))
        {
            Fault = WebSocketFault.Length;
            return;
        }

        _inPayload = true;
        _payloadRead = 0;
        _controlLength = 0;
        if ((_payloadLength == 0 || header.IsControl) && ++_idleFrames > MostIdleFrames)
        {
            Fault = WebSocketFault.Flood;
        }
        else if (_payloadLength == 0)
        {
            EndFrame(header);
        }
    }

    private WebSocketFault Judge(WebSocketFrameHeader header)
    {
        if (header.IsExtended)
        {
            return WebSocketFault.Extension;
        }

        if (header.IsMasked != _expectsMask)
        {
            return WebSocketFault.Mask;
        }

        return header.Opcode switch
        {
            WebSocketFrameHeader.Close or WebSocketFrameHeader.Ping or WebSocketFrameHeader.Pong =>
                header is { IsFinal: true, IsShort: true } ? WebSocketFault.None : WebSocketFault.Control,
            WebSocketFrameHeader.Continuation => _inMessage ? WebSocketFault.None : WebSocketFault.Fragment,
            WebSocketFrameHeader.Binary => _inMessage ? WebSocketFault.Fragment : WebSocketFault.None,
            WebSocketFrameHeader.Text => WebSocketFault.Text,
            _ => WebSocketFault.Opcode,
        };
    }

    private void EndFrame(WebSocketFrameHeader header)
    {
        _inPayload = false;
        _headerLength = 0;
        switch (header.Opcode)
        {
            case WebSocketFrameHeader.Ping:
                _ping = _control.AsSpan(0, _controlLength).ToArray();
                break;
            case WebSocketFrameHeader.Close:
                EndMessages();
                break;
            case WebSocketFrameHeader.Pong:
                break;
            default:
                _inMessage = !header.IsFinal;
                break;
        }
    }

    private void EndMessages()
    {
        if (_controlLength == 0)
        {
            CloseCode = NoCode;
            return;
        }

        var code = _controlLength == 1 ? 0 : BinaryPrimitives.ReadUInt16BigEndian(_control);
        var reason = _control.AsSpan(Math.Min(_controlLength, sizeof(ushort)), Math.Max(0, _controlLength - sizeof(ushort)));
        if (!MaySend(code) || !Utf8.IsValid(reason))
        {
            Fault = MaySend(code) ? WebSocketFault.Reason : WebSocketFault.Close;
            return;
        }

        CloseCode = code;
        CloseText = PlainText.Clean(Encoding.UTF8.GetString(reason));
    }

    /// <summary>
    /// Whether a Close frame may have a code: those of RFC 6455 section 7.4.1 except the three that are never sent, those that were
    /// registered after it (1012 to 1014), and those of libraries and applications.
    /// </summary>
    private static bool MaySend(int code) => code is (>= 1000 and <= 1014 and not (1004 or NoCode or 1006)) or (>= 3000 and <= 4999);

    [InlineArray(WebSocketFrameHeader.MaxSize)]
    private struct HeaderBytes
    {
        private byte _first;
    }
}
