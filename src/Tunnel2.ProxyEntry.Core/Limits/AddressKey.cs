using System.Buffers.Binary;
using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// The key by which addresses are counted: IPv4 as it is, IPv6 by its /64, which usually belongs to one customer. Not a
/// <see cref="UInt128"/>, because methods with that type are not compiled ahead, and each accepted connection makes a key.
/// </summary>
internal readonly record struct AddressKey(ulong Upper, ulong Lower)
{
    /// <summary>The key of an address; an IPv4 address mapped into IPv6 counts as IPv4.</summary>
    public static AddressKey Of(IPAddress address)
    {
        Span<byte> bytes = stackalloc byte[16];
        bytes.Clear();
        var plain = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        if (plain.AddressFamily == AddressFamily.InterNetwork)
        {
            // As IPv4-mapped IPv6. No /64 of real IPv6 addresses is equal to it: its upper half is zero, and its lower half is not.
            bytes[10] = bytes[11] = 0xFF;
            plain.TryWriteBytes(bytes[12..], out _);
        }
        else
        {
            plain.TryWriteBytes(bytes, out _);
            bytes[8..].Clear();
        }

        return new AddressKey(BinaryPrimitives.ReadUInt64BigEndian(bytes), BinaryPrimitives.ReadUInt64BigEndian(bytes[8..]));
    }

    /// <summary>The key of an address that may be unknown: all unknown ones count together.</summary>
    public static AddressKey OfAny(IPAddress? address) => address is null ? default : Of(address);

    /// <summary>32 hexadecimal digits.</summary>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Upper:x16}{Lower:x16}");
}
