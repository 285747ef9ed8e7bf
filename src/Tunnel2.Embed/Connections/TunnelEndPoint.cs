using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Embed.Connections;

/// <summary>Where Kestrel listens for requests that come through the tunnel: no address, and no port.</summary>
internal sealed class TunnelEndPoint : EndPoint
{
    /// <summary>The only one.</summary>
    public static TunnelEndPoint Instance { get; } = new();

    private TunnelEndPoint()
    {
    }

    /// <inheritdoc/>
    public override AddressFamily AddressFamily => AddressFamily.Unspecified;

    /// <summary>What Kestrel shows as its address.</summary>
    public override string ToString() => "tunnel2";
}
