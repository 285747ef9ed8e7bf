using System.Buffers.Binary;
using System.Net;
using System.Runtime.CompilerServices;
using System.Text;

namespace Tunnel2.Transport.Native;

/// <summary>Addresses in the kernel's form: <c>sockaddr_in</c>, <c>sockaddr_in6</c> and <c>sockaddr_un</c>.</summary>
internal static class SocketAddressBytes
{
    public const int MaxLength = 28;

    /// <summary>Bytes of a Unix socket's address: the family, 107 of a path, and a zero.</summary>
    public const int MaxPathLength = 2 + 108;

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

    /// <summary>Writes the address of a Unix socket.</summary>
    /// <param name="path">The path, at most 107 bytes in UTF-8.</param>
    /// <param name="destination">Room for <see cref="MaxPathLength"/> bytes.</param>
    /// <returns>Its length in bytes.</returns>
    public static int Write(string path, Span<byte> destination)
    {
        destination[..MaxPathLength].Clear();
        Unsafe.WriteUnaligned(ref destination[0], (ushort)Libc.AfUnix);
        return 2 + Encoding.UTF8.GetBytes(path, destination[2..(MaxPathLength - 1)]) + 1;
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
