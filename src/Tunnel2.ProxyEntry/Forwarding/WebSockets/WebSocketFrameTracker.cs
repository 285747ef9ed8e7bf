namespace Tunnel2.ProxyEntry.Forwarding.WebSockets;

/// <summary>
/// Follows the frames of one direction of a WebSocket (RFC 6455 section 5.2) without looking at their payload: where one ends is where
/// another may be put in. Bytes come in pieces of any size. Not thread-safe.
/// </summary>
internal struct WebSocketFrameTracker
{
    private const int CloseOpcode = 0x8;

    /// <summary>Header bytes of the frame so far; 0 between frames.</summary>
    private int _headerLength;

    /// <summary>Header bytes that the frame has; known from its second byte on.</summary>
    private int _headerSize;
    private ulong _payloadLeft;
    private bool _isClose;

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
            if (_headerLength < 2 || _headerLength < _headerSize)
            {
                OnHeaderByte(bytes[taken++]);
            }
            else
            {
                var payload = (int)Math.Min(_payloadLeft, (ulong)(bytes.Length - taken));
                _payloadLeft -= (ulong)payload;
                taken += payload;
            }

            if (_headerLength >= 2 && _headerLength == _headerSize && _payloadLeft == 0)
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
        switch (_headerLength++)
        {
            case 0:
                _isClose = (value & 0x0F) == CloseOpcode;
                break;
            case 1:
                var length = value & 0x7F;
                var extended = length switch { 126 => 2, 127 => 8, _ => 0 };
                _headerSize = 2 + extended + ((value & 0x80) == 0 ? 0 : 4);
                _payloadLeft = extended == 0 ? (ulong)length : 0;
                _extendedLeft = extended;
                HasClosed |= _isClose;
                break;
            default:
                if (_extendedLeft > 0)
                {
                    _extendedLeft--;
                    _payloadLeft = (_payloadLeft << 8) | value;

                    // The highest bit of a length of 64 bits is 0.
                    IsBroken = _extendedLeft == 0 && _payloadLeft > long.MaxValue;
                }

                break;
        }
    }

    /// <summary>Bytes of the extended length that are still to come.</summary>
    private int _extendedLeft;
}
