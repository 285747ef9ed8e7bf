namespace Tunnel2.Protocol;

/// <summary>The versions of the uplink protocol that this library speaks, and how a peer's range is answered.</summary>
public static class ProtocolVersion
{
    /// <summary>The only version until now.</summary>
    public const byte V1 = 1;

    /// <summary>The lowest version this library speaks.</summary>
    public const byte Lowest = V1;

    /// <summary>The highest version this library speaks.</summary>
    public const byte Highest = V1;

    /// <summary>The TLS application protocol of version 1 (RFC 7301).</summary>
    public const string Alpn = "tunnel2/1";

    /// <summary>The TLS application protocol of node links, which carry version 1 between the nodes of a cluster.</summary>
    public const string NodeAlpn = "tunnel2-node/1";

    /// <summary>Chooses the highest version that both sides speak.</summary>
    /// <param name="lowest">The peer's lowest version.</param>
    /// <param name="highest">The peer's highest version.</param>
    /// <param name="chosen">The version to use, or 0.</param>
    /// <returns>False when there is no common version, or when the peer's range is empty.</returns>
    public static bool TryChoose(byte lowest, byte highest, out byte chosen)
    {
        chosen = Math.Min(highest, Highest);
        if (lowest <= highest && chosen >= lowest && chosen >= Lowest)
        {
            return true;
        }

        chosen = 0;
        return false;
    }
}
