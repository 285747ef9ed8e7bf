using System.Buffers.Binary;

namespace Tunnel2.Http2.Frames;

/// <summary>Writes whole frames of a fixed length. Allocates nothing.</summary>
internal static class Http2Frames
{
    /// <summary>Bytes of a RST_STREAM or WINDOW_UPDATE.</summary>
    public const int ShortLength = Http2FrameHeader.Size + 4;

    /// <summary>Bytes of a PING, and of a GOAWAY without debug data.</summary>
    public const int LongLength = Http2FrameHeader.Size + 8;

    /// <summary>Bytes of a setting in a SETTINGS frame.</summary>
    public const int SettingLength = 6;

    /// <summary>
    /// The largest payload of a frame that may be sent before SETTINGS say otherwise, and the smallest value that they may have.
    /// </summary>
    public const int DefaultMaxFrameSize = 16 * 1024;

    /// <summary>The window of a stream and of the connection before anything is said (RFC 9113 section 6.9.2).</summary>
    public const int DefaultWindow = 65_535;

    /// <summary>What a client sends first (RFC 9113 section 3.4).</summary>
    public static ReadOnlySpan<byte> Preface => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8;

    /// <summary>Writes one setting.</summary>
    /// <param name="destination"><see cref="SettingLength"/> bytes.</param>
    /// <param name="id">Which.</param>
    /// <param name="value">Its value.</param>
    public static void WriteSetting(Span<byte> destination, Http2SettingId id, uint value)
    {
        BinaryPrimitives.WriteUInt16BigEndian(destination, (ushort)id);
        BinaryPrimitives.WriteUInt32BigEndian(destination[2..], value);
    }

    /// <summary>Writes the acknowledgement of SETTINGS: a header alone.</summary>
    public static void WriteSettingsAck(Span<byte> destination) =>
        new Http2FrameHeader(0, Http2FrameType.Settings, Http2FrameFlags.Ack, 0).Write(destination);

    /// <summary>Writes the answer to a PING.</summary>
    /// <param name="destination"><see cref="LongLength"/> bytes.</param>
    /// <param name="payload">The eight bytes of the question.</param>
    public static void WritePingAck(Span<byte> destination, ReadOnlySpan<byte> payload)
    {
        new Http2FrameHeader(8, Http2FrameType.Ping, Http2FrameFlags.Ack, 0).Write(destination);
        payload[..8].CopyTo(destination[Http2FrameHeader.Size..]);
    }

    /// <summary>Writes a WINDOW_UPDATE.</summary>
    /// <param name="destination"><see cref="ShortLength"/> bytes.</param>
    /// <param name="streamId">The stream; 0: the connection.</param>
    /// <param name="increment">1 to 2^31-1.</param>
    public static void WriteWindowUpdate(Span<byte> destination, int streamId, int increment)
    {
        new Http2FrameHeader(4, Http2FrameType.WindowUpdate, Http2FrameFlags.None, streamId).Write(destination);
        BinaryPrimitives.WriteInt32BigEndian(destination[Http2FrameHeader.Size..], increment);
    }

    /// <summary>Writes a RST_STREAM.</summary>
    /// <param name="destination"><see cref="ShortLength"/> bytes.</param>
    /// <param name="streamId">The stream.</param>
    /// <param name="code">Why.</param>
    public static void WriteRstStream(Span<byte> destination, int streamId, Http2ErrorCode code)
    {
        new Http2FrameHeader(4, Http2FrameType.RstStream, Http2FrameFlags.None, streamId).Write(destination);
        BinaryPrimitives.WriteUInt32BigEndian(destination[Http2FrameHeader.Size..], (uint)code);
    }

    /// <summary>Writes a GOAWAY.</summary>
    /// <param name="destination"><see cref="LongLength"/> bytes.</param>
    /// <param name="code">Why.</param>
    /// <param name="lastStreamId">The last stream of the peer that may have been served; 0 for a client that was pushed nothing.</param>
    public static void WriteGoAway(Span<byte> destination, Http2ErrorCode code, int lastStreamId = 0)
    {
        new Http2FrameHeader(8, Http2FrameType.GoAway, Http2FrameFlags.None, 0).Write(destination);
        BinaryPrimitives.WriteInt32BigEndian(destination[Http2FrameHeader.Size..], lastStreamId);
        BinaryPrimitives.WriteUInt32BigEndian(destination[(Http2FrameHeader.Size + 4)..], (uint)code);
    }

    /// <summary>
    /// Removes padding and priority from the payload of a DATA or HEADERS frame (RFC 9113 sections 6.1 and 6.2).
    /// </summary>
    /// <returns>False when the padding is longer than the payload.</returns>
    public static bool TryUnpad(Http2FrameHeader header, scoped ref ReadOnlySpan<byte> payload)
    {
        var padding = 0;
        if (header.Has(Http2FrameFlags.Padded))
        {
            if (payload.IsEmpty)
            {
                return false;
            }

            padding = payload[0];
            payload = payload[1..];
        }

        var priority = header.Type == Http2FrameType.Headers && header.Has(Http2FrameFlags.Priority) ? 5 : 0;
        if (payload.Length < padding + priority)
        {
            return false;
        }

        payload = payload[priority..^padding];
        return true;
    }
}
