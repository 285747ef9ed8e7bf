using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Numerics;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>
/// Networks of IPv4 and IPv6, as sorted ranges without overlaps: a look-up is a binary search, however many there are. Immutable.
/// </summary>
internal sealed class NetworkSet
{
    private readonly NetworkRange<uint>[] _ipv4;
    private readonly NetworkRange<UInt128>[] _ipv6;

    private NetworkSet(NetworkRange<uint>[] ipv4, NetworkRange<UInt128>[] ipv6)
    {
        _ipv4 = ipv4;
        _ipv6 = ipv6;
    }

    /// <summary>The set of some networks; null if there is none.</summary>
    /// <param name="networks">Networks. One of IPv4 addresses that are mapped into IPv6 counts as IPv4.</param>
    public static NetworkSet? Of(IReadOnlyCollection<IPNetwork> networks)
    {
        if (networks.Count == 0)
        {
            return null;
        }

        var ipv4 = new List<NetworkRange<uint>>();
        var ipv6 = new List<NetworkRange<UInt128>>();
        foreach (var network in networks)
        {
            const int MappedBits = 96;
            var first = network.BaseAddress;
            var bits = network.PrefixLength;
            if (first.IsIPv4MappedToIPv6 && bits >= MappedBits)
            {
                (first, bits) = (first.MapToIPv4(), bits - MappedBits);
            }

            if (first.AddressFamily == AddressFamily.InterNetwork)
            {
                var number = NumberOfIPv4(first);
                ipv4.Add(new NetworkRange<uint>(number, number | (bits == 0 ? uint.MaxValue : ~(uint.MaxValue << (32 - bits)))));
            }
            else
            {
                var number = NumberOfIPv6(first);
                ipv6.Add(new NetworkRange<UInt128>(
                    number, number | (bits == 0 ? UInt128.MaxValue : ~(UInt128.MaxValue << (128 - bits)))));
            }
        }

        return new NetworkSet(Merge(ipv4), Merge(ipv6));
    }

    /// <summary>Whether an address is in one of the networks; an IPv4 address that is mapped into IPv6 counts as IPv4.</summary>
    public bool Contains(IPAddress address) =>
        address.AddressFamily == AddressFamily.InterNetwork ? Contains(_ipv4, NumberOfIPv4(address))
        : address.IsIPv4MappedToIPv6 ? Contains(_ipv4, NumberOfIPv4(address.MapToIPv4()))
        : Contains(_ipv6, NumberOfIPv6(address));

    private static bool Contains<T>(NetworkRange<T>[] ranges, T number)
        where T : struct, IBinaryInteger<T>
    {
        var (low, high) = (0, ranges.Length - 1);
        while (low <= high)
        {
            var middle = (low + high) >>> 1;
            if (number < ranges[middle].First)
            {
                high = middle - 1;
            }
            else if (number > ranges[middle].Last)
            {
                low = middle + 1;
            }
            else
            {
                return true;
            }
        }

        return false;
    }

    private static NetworkRange<T>[] Merge<T>(List<NetworkRange<T>> ranges)
        where T : struct, IBinaryInteger<T>
    {
        ranges.Sort(static (a, b) => a.First.CompareTo(b.First));
        var merged = new List<NetworkRange<T>>(ranges.Count);
        foreach (var range in ranges)
        {
            if (merged.Count > 0 && range.First <= merged[^1].Last)
            {
                merged[^1] = merged[^1] with { Last = T.Max(merged[^1].Last, range.Last) };
            }
            else
            {
                merged.Add(range);
            }
        }

        return [.. merged];
    }

    private static uint NumberOfIPv4(IPAddress address)
    {
        Span<byte> bytes = stackalloc byte[4];
        address.TryWriteBytes(bytes, out _);
        return BinaryPrimitives.ReadUInt32BigEndian(bytes);
    }

    private static UInt128 NumberOfIPv6(IPAddress address)
    {
        Span<byte> bytes = stackalloc byte[16];
        address.TryWriteBytes(bytes, out _);
        return BinaryPrimitives.ReadUInt128BigEndian(bytes);
    }
}

/// <summary>The first and the last address of a range, as numbers.</summary>
/// <typeparam name="T">The type of the number.</typeparam>
internal readonly record struct NetworkRange<T>(T First, T Last)
    where T : struct, IBinaryInteger<T>;
