using System.Numerics;
using System.Runtime.InteropServices;

namespace Tunnel2.Transport.WebSockets;

/// <summary>The mask of a client's frames (RFC 6455 section 5.3), applied and removed by the same operation.</summary>
internal static class WebSocketMask
{
    /// <summary>Masks bytes in place, or removes their mask.</summary>
    /// <param name="bytes">The bytes.</param>
    /// <param name="mask">Four bytes.</param>
    /// <param name="offset">How many bytes of the payload come before them.</param>
    public static void Apply(Span<byte> bytes, ReadOnlySpan<byte> mask, long offset)
    {
        // Turned, so that its first byte belongs to the first of the bytes.
        Span<byte> turned = stackalloc byte[WebSocketFrameHeader.MaskSize];
        for (var i = 0; i < turned.Length; i++)
        {
            turned[i] = mask[(int)((offset + i) & 3)];
        }

        // A vector is a multiple of four bytes long, so the mask begins anew in each.
        var pattern = Vector.AsVectorByte(new Vector<uint>(MemoryMarshal.Read<uint>(turned)));
        var vectors = MemoryMarshal.Cast<byte, Vector<byte>>(bytes);
        for (var i = 0; i < vectors.Length; i++)
        {
            vectors[i] ^= pattern;
        }

        for (var i = vectors.Length * Vector<byte>.Count; i < bytes.Length; i++)
        {
            bytes[i] ^= turned[i & 3];
        }
    }
}
