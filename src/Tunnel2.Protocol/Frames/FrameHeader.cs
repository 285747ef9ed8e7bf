using System.Buffers.Binary;
using System.Diagnostics;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Protocol.Frames;

/// <summary>
/// The fixed header of every frame, big-endian:
/// <code>
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-----------------------------------------------+-+-+-+---------+
/// |             payload length (24)               |C|E|A| type (5)|
/// +-----------------------------------------------+-+-+-+---------+
/// |        slot (16)              |       generation (16)         |
/// +-------------------------------+-------------------------------+
/// </code>
/// </summary>
/// <param name="Length">Payload bytes after the header, 0…2^24 − 1; each type has a tighter limit.</param>
/// <param name="Type">The kind of frame; those that <see cref="FrameType"/> lacks are unknown to this version.</param>
/// <param name="Flags">The flags.</param>
/// <param name="Stream">The stream, or <see cref="StreamId.Uplink"/>.</param>
public readonly record struct FrameHeader(int Length, FrameType Type, FrameFlags Flags, StreamId Stream)
{
    /// <summary>Bytes of a frame header.</summary>
    public const int Size = 8;

    private const byte TypeMask = 0x1F;

    /// <summary>Whether this version knows the type.</summary>
    public bool IsKnown => Type is > FrameType.None and <= FrameType.GoAway or FrameType.Service or FrameType.Nodes;

    /// <summary>Whether the sender's direction ends with this frame.</summary>
    public bool EndsDirection => (Flags & FrameFlags.End) != 0;

    /// <summary>Writes the eight bytes.</summary>
    /// <param name="destination">At least <see cref="Size"/> bytes.</param>
    public void Write(Span<byte> destination)
    {
        Debug.Assert((uint)Length < 1u << 24, "A frame's length has 24 bits.");
        BinaryPrimitives.WriteUInt32BigEndian(destination, ((uint)Length << 8) | (byte)Flags | (byte)Type);
        BinaryPrimitives.WriteUInt32BigEndian(destination[4..], Stream.Value);
    }

    /// <summary>Reads and checks a header: an illegal type, length or stream is found before a byte of the payload is buffered.</summary>
    /// <param name="source">At least <see cref="Size"/> bytes.</param>
    /// <param name="header">The header, also if it is refused.</param>
    /// <returns><see cref="ProtocolError.None"/> when the frame may be read (or, if not <see cref="IsKnown"/>, skipped).</returns>
    public static ProtocolError TryRead(ReadOnlySpan<byte> source, out FrameHeader header)
    {
        var first = BinaryPrimitives.ReadUInt32BigEndian(source);
        var second = BinaryPrimitives.ReadUInt32BigEndian(source[4..]);
        header = new FrameHeader((int)(first >> 8), (FrameType)(first & TypeMask), (FrameFlags)(first & 0xE0), new StreamId(second));
        return header.Validate();
    }

    private ProtocolError Validate()
    {
        switch (Type)
        {
            case FrameType.Data:
                return Length > ProtocolLimits.MaxDataLength ? ProtocolError.FrameTooLong : RequireStream();
            case FrameType.Headers:
                return Length > ProtocolLimits.MaxHeadersLength ? ProtocolError.FrameTooLong
                    : Length < ProtocolLimits.HeaderBlockPrefixLength ? ProtocolError.FrameTooShort
                    : RequireStream();
            case FrameType.Window:
                return Stream is { IsUplink: false, Generation: 0 }
                    ? ProtocolError.InvalidStreamId
                    : RequireLength(ProtocolLimits.WindowLength);
            case FrameType.Rst:
                var rst = RequireLength(ProtocolLimits.RstLength);
                return rst != ProtocolError.None ? rst : RequireStream();
            case FrameType.Ping:
                var ping = RequireLength(ProtocolLimits.PingLength);
                return ping != ProtocolError.None ? ping : RequireUplink();
            case FrameType.Service:
                var service = RequireLength(ProtocolLimits.ServiceLength);
                return service != ProtocolError.None ? service : RequireUplink();
            case FrameType.Nodes:
                return Length < ProtocolLimits.MinNodesLength ? ProtocolError.FrameTooShort : Limited(ProtocolLimits.MaxNodesLength);
            case FrameType.Hello:
                return Limited(ProtocolLimits.MaxHelloLength);
            case FrameType.Welcome:
                return Limited(ProtocolLimits.MaxWelcomeLength);
            case FrameType.Reject:
                return Limited(ProtocolLimits.MaxRejectLength);
            case FrameType.Join:
                return Limited(ProtocolLimits.MaxJoinLength);
            case FrameType.GoAway:
                return Limited(ProtocolLimits.MaxGoAwayLength);
            case FrameType.None:
                return ProtocolError.ReservedFrameType;
            default:
                return Length > ProtocolLimits.MaxUnknownLength ? ProtocolError.FrameTooLong
                    : (Flags & FrameFlags.Critical) != 0 ? ProtocolError.UnknownCriticalFrame
                    : ProtocolError.None;
        }
    }

    private ProtocolError Limited(int limit) => Length > limit ? ProtocolError.FrameTooLong : RequireUplink();

    private ProtocolError RequireLength(int exact) =>
        Length == exact ? ProtocolError.None : Length > exact ? ProtocolError.FrameTooLong : ProtocolError.FrameTooShort;

    private ProtocolError RequireStream() => Stream.Generation == 0 ? ProtocolError.InvalidStreamId : ProtocolError.None;

    private ProtocolError RequireUplink() => Stream.IsUplink ? ProtocolError.None : ProtocolError.InvalidStreamId;
}
