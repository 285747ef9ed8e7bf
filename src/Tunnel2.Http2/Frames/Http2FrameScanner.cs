namespace Tunnel2.Http2.Frames;

/// <summary>
/// Finds the frames in bytes that come in any pieces, and gives each header with the first bytes of some payloads. It keeps no payload
/// and checks nothing: the parser after it does. Not thread-safe.
/// </summary>
internal sealed class Http2FrameScanner
{
    /// <summary>Bytes of a payload that are shown at most: twelve settings.</summary>
    public const int MostShown = 12 * Http2Frames.SettingLength;

    private byte[]? _kept;
    private int _count;
    private int _skip;

    /// <summary>Begins with the first frame, or before it.</summary>
    /// <param name="preface">Bytes before the first frame: the length of a client's preface, or 0.</param>
    public Http2FrameScanner(int preface)
    {
        _skip = preface;
    }

    /// <summary>Whether the bytes so far end with a frame.</summary>
    public bool IsBetweenFrames => _count == 0 && _skip == 0;

    /// <summary>Bytes at the end that belong to a header, and to what is shown with it, which are not complete yet.</summary>
    public int Gathered => _count;

    /// <summary>
    /// Reads up to the next header, and what is shown of its payload. The rest of the payload is skipped by the next calls.
    /// </summary>
    /// <param name="bytes">What has come; it is shortened by what was read.</param>
    /// <param name="header">The header.</param>
    /// <param name="begin">
    /// All of a RST_STREAM and of a WINDOW_UPDATE, the first settings of SETTINGS, the first byte of padded DATA; nothing of others. Valid
    /// until the next call.
    /// </param>
    /// <returns>False when more bytes are needed; then all were read.</returns>
    public bool TryRead(ref ReadOnlySpan<byte> bytes, out Http2FrameHeader header, out ReadOnlySpan<byte> begin)
    {
        header = default;
        begin = default;
        if (_skip > 0)
        {
            var skipped = Math.Min(_skip, bytes.Length);
            bytes = bytes[skipped..];
            _skip -= skipped;
        }

        if (_skip > 0 || bytes.IsEmpty)
        {
            return false;
        }

        if (_count == 0 && bytes.Length >= Http2FrameHeader.Size)
        {
            header = Http2FrameHeader.Read(bytes);
            var shown = ShownOf(header);
            if (bytes.Length >= Http2FrameHeader.Size + shown)
            {
                begin = bytes.Slice(Http2FrameHeader.Size, shown);
                bytes = bytes[(Http2FrameHeader.Size + shown)..];
                _skip = header.Length - shown;
                return true;
            }
        }

        return TryGather(ref bytes, out header, out begin);
    }

    private static int ShownOf(Http2FrameHeader header) => header.Type switch
    {
        Http2FrameType.RstStream or Http2FrameType.WindowUpdate => Math.Min(header.Length, 4),
        Http2FrameType.Settings => Math.Min(header.Length, MostShown),
        Http2FrameType.Data when header.Has(Http2FrameFlags.Padded) => Math.Min(header.Length, 1),
        _ => 0,
    };

    /// <summary>The same for a header that comes in pieces.</summary>
    private bool TryGather(ref ReadOnlySpan<byte> bytes, out Http2FrameHeader header, out ReadOnlySpan<byte> begin)
    {
        _kept ??= new byte[Http2FrameHeader.Size + MostShown];
        header = default;
        begin = default;
        if (!TryFill(ref bytes, Http2FrameHeader.Size))
        {
            return false;
        }

        header = Http2FrameHeader.Read(_kept);
        var shown = ShownOf(header);
        if (!TryFill(ref bytes, Http2FrameHeader.Size + shown))
        {
            return false;
        }

        _count = 0;
        _skip = header.Length - shown;
        begin = _kept.AsSpan(Http2FrameHeader.Size, shown);
        return true;
    }

    private bool TryFill(ref ReadOnlySpan<byte> bytes, int wanted)
    {
        var taken = Math.Min(bytes.Length, Math.Max(0, wanted - _count));
        bytes[..taken].CopyTo(_kept.AsSpan(_count));
        bytes = bytes[taken..];
        _count += taken;
        return _count >= wanted;
    }
}
