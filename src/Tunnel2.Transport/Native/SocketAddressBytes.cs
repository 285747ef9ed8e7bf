using System.Buffers.Binary;
using System.Net;
using System.Runtime.CompilerServices;

namespace Tunnel2.Transport.Native;

/// <summary>Addresses in the kernel's form: <c>sockaddr_in</c> and <c>sockaddr_in6</c>.</summary>
internal static class SocketAddressBytes
{
    public const int MaxLength = 28;

    private const int Length4 = 16;

    /// <summary>Writes an address.</summary>
    /// <returns>Its length in bytes.</returns>
    public static int Write(IPEndPoint endPoint, Span<byte> destination)
    {
        destination[..MaxLength].Clear();
        BinaryPrimitives.WriteUInt16BigEndian(destination[2..], (ushort)endPoint.Port);
        if (endPoint.AddressFamily == System.Net.Sockets.AddressFamily.InterNetwork)
        {
            Unsafe.WriteUnaligned(ref destination[0], (ushort)Libc.AfInet);
            endPoint.Address.TryWriteBytes(destination[4..], out _);
            return Length4;
        }

        Unsafe.WriteUnaligned(ref destination[0], (ushort)Libc.AfInet6);
        endPoint.Address.TryWriteBytes(destination[8..], out _);
        Unsafe.WriteUnaligned(ref destination[24], (uint)endPoint.Address.ScopeId);
        return MaxLength;
    }

    /// <summary>Reads an address.</summary>
    /// <returns>Null for a family that is neither IPv4 nor IPv6.</returns>
    public static IPEndPoint? Read(ReadOnlySpan<byte> source)
    {
        if (source.Length < Length4)
        {
            return null;
        }

        var family = Unsafe.ReadUnaligned<ushort>(in source[0]);
        var port = BinaryPrimitives.ReadUInt16BigEndian(source[2..]);
        return family switch
        {
            Libc.AfInet => new IPEndPoint(new IPAddress(source.Slice(4, 4)), port),
            Libc.AfInet6 when source.Length >= MaxLength =>
                new IPEndPoint(new IPAddress(source.Slice(8, 16), Unsafe.ReadUnaligned<uint>(in source[24])), port),
            _ => null,
        };
    }
}
