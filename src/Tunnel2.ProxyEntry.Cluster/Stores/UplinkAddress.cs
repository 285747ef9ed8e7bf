using System.Globalization;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>Reads where agents reach a node.</summary>
internal static class UplinkAddress
{
    /// <summary>Null: it is no address, or not one that agents would use.</summary>
    public static AnnouncedNode? TryRead(string node, string address, string zone)
    {
        var colon = address.LastIndexOf(':');
        return colon > 0
            && ushort.TryParse(address.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var port)
            && new AnnouncedNode(node, address[..colon].Trim('[', ']'), port, zone) is { IsValid: true } read
            ? read
            : null;
    }
}
