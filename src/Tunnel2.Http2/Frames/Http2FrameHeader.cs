using System.Buffers.Binary;

namespace Tunnel2.Http2.Frames;

/// <summary>The nine bytes in front of every frame (RFC 9113 section 4.1).</summary>
/// <param name="Length">Bytes of the payload, 0 to 2^24-1.</param>
/// <param name="Type">The type.</param>
/// <param name="Flags">The flags.</param>
/// <param name="StreamId">The stream, 0 to 2^31-1; 0 is the connection.</param>
internal readonly record struct Http2FrameHeader(int Length, Http2FrameType Type, Http2FrameFlags Flags, int StreamId)
{
    /// <summary>Bytes of a header.</summary>
    public const int Size = 9;

    /// <summary>Whether all of <paramref name="flag"/> are set.</summary>
    public bool Has(Http2FrameFlags flag) => (Flags & flag) == flag;

    /// <summary>Reads a header. The reserved bit of the stream is ignored.</summary>
    /// <param name="source">At least <see cref="Size"/> bytes.</param>
    public static Http2FrameHeader Read(ReadOnlySpan<byte> source) => new(
        (source[0] << 16) | BinaryPrimitives.ReadUInt16BigEndian(source[1..]),
        (Http2FrameType)source[3],
        (Http2FrameFlags)source[4],
        BinaryPrimitives.ReadInt32BigEndian(source[5..]) & int.MaxValue);

    /// <summary>Writes the header.</summary>
    /// <param name="destination">At least <see cref="Size"/> bytes.</param>
    public void Write(Span<byte> destination)
    {
        destination[0] = (byte)(Length >> 16);
        BinaryPrimitives.WriteUInt16BigEndian(destination[1..], (ushort)Length);
        destination[3] = (byte)Type;
        destination[4] = (byte)Flags;
        BinaryPrimitives.WriteInt32BigEndian(destination[5..], StreamId);
    }
}
