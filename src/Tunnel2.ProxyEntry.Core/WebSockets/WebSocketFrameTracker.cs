using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.WebSockets;

/// <summary>
/// Follows the frames of one direction of a WebSocket (RFC 6455 section 5.2) without looking at their payload: where one ends is where
/// another may be put in. Bytes come in pieces of any size. Not thread-safe.
/// </summary>
internal struct WebSocketFrameTracker
{
    private HeaderBytes _header;

    /// <summary>Header bytes of the frame so far; 0 between frames.</summary>
    private int _headerLength;

    /// <summary>Header bytes that the frame has; known from its second byte on.</summary>
    private int _headerSize;
    private long _payloadLeft;

    /// <summary>Whether no frame is half sent.</summary>
    public readonly bool IsAtBoundary => _headerLength == 0;

    /// <summary>Whether a Close frame has begun: nothing may follow it.</summary>
    public bool HasClosed { get; private set; }

    /// <summary>Whether what came is no frame, so that nothing can be said of boundaries any more.</summary>
    public bool IsBroken { get; private set; }

    /// <summary>Takes note of bytes.</summary>
    /// <param name="bytes">The next bytes of the direction.</param>
    /// <param name="stopAtBoundary">Whether to stop behind the first frame that ends in them.</param>
    /// <returns>How many bytes were taken; less than all only behind a frame's end.</returns>
    public int Advance(ReadOnlySpan<byte> bytes, bool stopAtBoundary)
    {
        var taken = 0;
        while (taken < bytes.Length && !IsBroken)
        {
            if (_headerLength < WebSocketFrameHeader.FixedSize || _headerLength < _headerSize)
            {
                OnHeaderByte(bytes[taken++]);
            }
            else
            {
                var payload = (int)Math.Min(_payloadLeft, bytes.Length - taken);
                _payloadLeft -= payload;
                taken += payload;
            }

            if (_headerLength >= WebSocketFrameHeader.FixedSize && _headerLength == _headerSize && _payloadLeft == 0)
            {
                _headerLength = 0;
                if (stopAtBoundary)
                {
                    return taken;
                }
            }
        }

        return bytes.Length;
    }

    private void OnHeaderByte(byte value)
    {
        Span<byte> bytes = _header;
        bytes[_headerLength++] = value;
        if (_headerLength < WebSocketFrameHeader.FixedSize)
        {
            return;
        }

        var header = new WebSocketFrameHeader(bytes[0], bytes[1]);
        _headerSize = header.Size;
        HasClosed |= header.Opcode == WebSocketFrame.Close;
        if (_headerLength == _headerSize)
        {
            _payloadLeft = header.PayloadLength(bytes);
            IsBroken = _payloadLeft < 0;
        }
    }

    [InlineArray(WebSocketFrameHeader.MaxSize)]
    private struct HeaderBytes
    {
        private byte _first;
    }
}
