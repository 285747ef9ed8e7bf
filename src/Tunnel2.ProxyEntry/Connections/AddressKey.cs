using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>What addresses are counted by: IPv4 as it is, IPv6 by its /64, which one customer has to himself.</summary>
internal static class AddressKey
{
    /// <summary>The number that stands for an address; an IPv4 address mapped into IPv6 counts as itself.</summary>
    public static UInt128 Of(IPAddress address)
    {
        Span<byte> bytes = stackalloc byte[16];
        bytes.Clear();
        var plain = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        if (plain.AddressFamily == AddressFamily.InterNetwork)
        {
            // As IPv4-mapped IPv6, which no /64 of real IPv6 addresses is: its upper half is zero, and its lower half is not.
            bytes[10] = bytes[11] = 0xFF;
            plain.TryWriteBytes(bytes[12..], out _);
        }
        else
        {
            plain.TryWriteBytes(bytes, out _);
            bytes[8..].Clear();
        }

        return BinaryPrimitives.ReadUInt128BigEndian(bytes);
    }
}
