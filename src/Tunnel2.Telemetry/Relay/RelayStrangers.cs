using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// Counts connections that are not clients yet: in their TLS handshake or before the end of their hello. There may be a number of them in
/// all. An address (IPv6: /64) gets a place only while it has fewer than are free, so a few addresses cannot keep others out. Thread-safe.
/// </summary>
internal sealed class RelayStrangers(int most)
{
    private readonly Lock _gate = new();
    private readonly Dictionary<(AddressFamily Family, ulong Network), int> _counts = [];
    private int _count;

    /// <summary>How many there are.</summary>
    internal int Count
    {
        get
        {
            lock (_gate)
            {
                return _count;
            }
        }
    }

    /// <summary>Takes a place for a new connection.</summary>
    /// <returns>False when there is none left, in all or for this address.</returns>
    internal bool TryEnter(IPAddress address)
    {
        (AddressFamily, ulong) key = KeyOf(address);
        lock (_gate)
        {
            int own = _counts.GetValueOrDefault(key);
            if (own >= most - _count)
            {
                return false;
            }

            _counts[key] = own + 1;
            _count++;
            return true;
        }
    }

    /// <summary>Gives a place back: the connection became a client, or ended.</summary>
    internal void Leave(IPAddress address)
    {
        (AddressFamily, ulong) key = KeyOf(address);
        lock (_gate)
        {
            _count--;
            if (--_counts[key] == 0)
            {
                _counts.Remove(key);
            }
        }
    }

    private static (AddressFamily Family, ulong Network) KeyOf(IPAddress address)
    {
        address = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        Span<byte> bytes = stackalloc byte[16];
        address.TryWriteBytes(bytes, out int length);
        return (address.AddressFamily, length < 8 ? BinaryPrimitives.ReadUInt32LittleEndian(bytes)
            : BinaryPrimitives.ReadUInt64LittleEndian(bytes));
    }
}
