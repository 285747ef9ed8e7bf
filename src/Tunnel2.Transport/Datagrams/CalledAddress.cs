using System.Net;

namespace Tunnel2.Transport.Datagrams;

/// <summary>
/// The address of this machine that a datagram was sent to, in the form of its socket's family; the default value: not known. Immutable.
/// </summary>
/// <param name="Bytes">The address: four bytes and zeros, or sixteen.</param>
/// <param name="Interface">The interface of a link-local address, which means nothing without it; otherwise 0.</param>
internal readonly record struct CalledAddress(UInt128 Bytes, int Interface)
{
    /// <summary>The address; null: not known.</summary>
    /// <param name="isIPv6">Whether it is one of a socket of IPv6.</param>
    public IPAddress? ToAddress(bool isIPv6)
    {
        if (this == default)
        {
            return null;
        }

        Span<byte> bytes = stackalloc byte[16];
        System.Runtime.InteropServices.MemoryMarshal.Write(bytes, Bytes);
        return isIPv6 ? new IPAddress(bytes, Interface) : new IPAddress(bytes[..4]);
    }
}
