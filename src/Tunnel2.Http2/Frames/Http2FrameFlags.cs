namespace Tunnel2.Http2.Frames;

/// <summary>The flags of a frame. Their meaning depends on the type, so two have one value.</summary>
[Flags]
[System.Diagnostics.CodeAnalysis.SuppressMessage("Design", "CA1069", Justification = "RFC 9113 gives the bit two meanings.")]
internal enum Http2FrameFlags : byte
{
    /// <summary>No flag.</summary>
    None = 0,

    /// <summary>DATA, HEADERS: the last of its direction.</summary>
    EndStream = 0x01,

    /// <summary>SETTINGS, PING: an answer. The value is that of END_STREAM, which these frames do not have.</summary>
    Ack = EndStream,

    /// <summary>HEADERS, CONTINUATION: the header block is complete.</summary>
    EndHeaders = 0x04,

    /// <summary>DATA, HEADERS: the payload begins with the length of a padding at its end.</summary>
    Padded = 0x08,

    /// <summary>HEADERS: five bytes of priority come before the block.</summary>
    Priority = 0x20,
}
