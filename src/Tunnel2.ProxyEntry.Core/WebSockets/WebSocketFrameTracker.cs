using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.ProxyEntry.WebSockets;

/// <summary>
/// Follows the frames in one direction of a WebSocket (RFC 6455 section 5.2) without reading their payload. Another frame may be inserted
/// where one ends. Bytes come in pieces of any size. Not thread-safe.
/// </summary>
internal struct WebSocketFrameTracker
{
    private HeaderBytes _header;

    /// <summary>Header bytes received of the current frame; 0 between frames.</summary>
    private int _headerLength;

    /// <summary>Header bytes of the current frame in all; known from its second byte on.</summary>
    private int _headerSize;
    private long _payloadLeft;

    /// <summary>Whether the last frame was sent completely.</summary>
    public readonly bool IsAtBoundary => _headerLength == 0;

    /// <summary>Whether a Close frame has begun: nothing may follow it.</summary>
    public bool HasClosed { get; private set; }

    /// <summary>Whether a frame was invalid, so that boundaries are unknown from then on.</summary>
    public bool IsBroken { get; private set; }

    /// <summary>Follows the next bytes.</summary>
    /// <param name="bytes">The next bytes of the direction.</param>
    /// <param name="stopAtBoundary">Whether to stop after the first frame that ends in them.</param>
    /// <returns>How many bytes were taken; less than all only at the end of a frame.</returns>
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
