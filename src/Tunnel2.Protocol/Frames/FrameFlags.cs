namespace Tunnel2.Protocol.Frames;

/// <summary>The flags of a frame: the high three bits of the header's fourth byte.</summary>
[Flags]
public enum FrameFlags : byte
{
    /// <summary>No flag.</summary>
    None = 0,

    /// <summary>PING: this is the answer. Reserved (sent as 0, ignored) on every other type.</summary>
    Ack = 0x20,

    /// <summary>HEADERS and DATA: the sender's direction of the stream ends with this frame.</summary>
    End = 0x40,

    /// <summary>A receiver that does not know the frame's type must end the session. Sent as 0 and ignored on known types.</summary>
    Critical = 0x80,
}
