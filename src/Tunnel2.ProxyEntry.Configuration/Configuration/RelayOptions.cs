namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The relay of the event ring: keys <c>Tunnel2:Relay:*</c>.</summary>
public sealed class RelayOptions
{
    /// <summary><c>host:port</c>, or <c>off</c> (default). The relay knows no tokens and no TLS: whoever reaches it sees every request.</summary>
    public string Listen { get; set; } = "off";

    /// <summary>Permits a relay that other machines can reach. Default false.</summary>
    public bool AllowRemote { get; set; }
}
