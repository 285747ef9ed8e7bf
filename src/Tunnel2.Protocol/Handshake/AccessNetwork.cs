namespace Tunnel2.Protocol.Handshake;

/// <summary>A network of visitors' addresses, of IPv4 or IPv6. Immutable.</summary>
public sealed class AccessNetwork
{
    private readonly byte[] _address;

    private AccessNetwork(byte[] address, byte prefixLength)
    {
        _address = address;
        PrefixLength = prefixLength;
    }

    /// <summary>The network's first address: 4 bytes (IPv4) or 16 (IPv6).</summary>
    public ReadOnlySpan<byte> Address => _address;

    /// <summary>How many bits all its addresses have in common.</summary>
    public byte PrefixLength { get; }

    /// <summary>Makes a network.</summary>
    /// <param name="address">4 or 16 bytes, without a bit after the prefix.</param>
    /// <param name="prefixLength">0 to 32 or 128.</param>
    /// <returns>The network; null when the values are not one.</returns>
    public static AccessNetwork? Create(ReadOnlySpan<byte> address, int prefixLength)
    {
        if (address.Length is not (4 or 16) || prefixLength < 0 || prefixLength > address.Length * 8)
        {
            return null;
        }

        for (var i = 0; i < address.Length; i++)
        {
            var kept = Math.Clamp(prefixLength - (i * 8), 0, 8);
            if ((address[i] & (0xFF >> kept)) != 0)
            {
                return null;
            }
        }

        return new AccessNetwork(address.ToArray(), (byte)prefixLength);
    }
}
