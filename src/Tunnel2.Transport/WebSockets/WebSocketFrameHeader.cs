using System.Buffers.Binary;

namespace Tunnel2.Transport.WebSockets;

/// <summary>
/// A frame's header (RFC 6455 section 5.2), from its first two bytes, which say how long the header is.
/// It also writes headers.
/// </summary>
internal readonly struct WebSocketFrameHeader(byte first, byte second)
{
    /// <summary>Bytes from which the length of a header is known.</summary>
    public const int FixedSize = 2;

    /// <summary>The length of the longest header, in bytes.</summary>
    public const int MaxSize = FixedSize + sizeof(ulong) + MaskSize;

    /// <summary>The longest payload of a control frame, and of any frame without an extended length.</summary>
    public const int MaxShortLength = 125;

    /// <summary>The opcode of a fragment that continues a message.</summary>
    public const int Continuation = 0;

    /// <summary>The opcode of a text message.</summary>
    public const int Text = 1;

    /// <summary>The opcode of a binary message.</summary>
    public const int Binary = 2;

    /// <summary>The opcode of the last frame of a direction.</summary>
    public const int Close = 8;

    /// <summary>The opcode of a frame that asks for a sign of life.</summary>
    public const int Ping = 9;

    /// <summary>The opcode of the answer to it.</summary>
    public const int Pong = 10;

    /// <summary>The length of a mask, in bytes.</summary>
    public const int MaskSize = 4;

    private const int Final = 0x80;
    private const int Masked = 0x80;
    private const int FirstControl = 8;

    /// <summary>Whether it is the last fragment of its message.</summary>
    public bool IsFinal => (first & 0x80) != 0;

    /// <summary>Whether a bit is set that belongs to an extension.</summary>
    public bool IsExtended => (first & 0x70) != 0;

    public int Opcode => first & 0x0F;

    /// <summary>Whether it is a control frame, which may come between the fragments of a message.</summary>
    public bool IsControl => Opcode >= FirstControl;

    /// <summary>Whether the payload is masked, as clients do.</summary>
    public bool IsMasked => (second & 0x80) != 0;

    /// <summary>Whether the first two bytes contain the payload's length.</summary>
    public bool IsShort => LengthCode <= MaxShortLength;

    /// <summary>The length of the header in bytes, mask included.</summary>
    public int Size => FixedSize + LengthSize + (IsMasked ? MaskSize : 0);

    private int LengthCode => second & 0x7F;

    private int LengthSize => LengthCode switch { 126 => sizeof(ushort), 127 => sizeof(ulong), _ => 0 };

    /// <summary>The payload's length; negative if it breaks the rules, because the highest bit of 64 must be 0.</summary>
    /// <param name="header">The whole header.</param>
    public long PayloadLength(ReadOnlySpan<byte> header) => LengthSize switch
    {
        sizeof(ushort) => BinaryPrimitives.ReadUInt16BigEndian(header[FixedSize..]),
        sizeof(ulong) => BinaryPrimitives.ReadInt64BigEndian(header[FixedSize..]),
        _ => LengthCode,
    };

    /// <summary>Whether a length has its shortest form, as it must (RFC 6455 section 5.2). An end of a WebSocket checks it.</summary>
    /// <param name="length">The length that this header says.</param>
    public bool IsShortestFormOf(long length) => LengthSize switch
    {
        sizeof(ushort) => length > MaxShortLength,
        sizeof(ulong) => length > ushort.MaxValue,
        _ => true,
    };

    /// <summary>The mask of a frame that has one.</summary>
    /// <param name="header">The whole header.</param>
    public ReadOnlySpan<byte> Mask(ReadOnlySpan<byte> header) => header[(Size - MaskSize)..Size];

    /// <summary>Writes the header of a frame that is a whole message, or a control frame.</summary>
    /// <param name="destination">Room for <see cref="MaxSize"/> bytes.</param>
    /// <param name="opcode">What the frame is.</param>
    /// <param name="length">The payload's length.</param>
    /// <param name="mask">The mask of a client's frame; empty for a server's.</param>
    /// <returns>The header's length.</returns>
    public static int Write(Span<byte> destination, int opcode, int length, ReadOnlySpan<byte> mask)
    {
        var size = FixedSize;
        destination[0] = (byte)(Final | opcode);
        var masked = mask.IsEmpty ? 0 : Masked;
        switch (length)
        {
            case <= MaxShortLength:
                destination[1] = (byte)(masked | length);
                break;
            case <= ushort.MaxValue:
                destination[1] = (byte)(masked | 126);
                BinaryPrimitives.WriteUInt16BigEndian(destination[size..], (ushort)length);
                size += sizeof(ushort);
                break;
            default:
                destination[1] = (byte)(masked | 127);
                BinaryPrimitives.WriteInt64BigEndian(destination[size..], length);
                size += sizeof(long);
                break;
        }

        mask.CopyTo(destination[size..]);
        return size + mask.Length;
    }
}
