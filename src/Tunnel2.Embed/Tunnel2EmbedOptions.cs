namespace Tunnel2.Embed;

/// <summary>Settings of <see cref="Tunnel2WebHostBuilderExtensions.UseTunnel2"/>.</summary>
public sealed class Tunnel2EmbedOptions : Tunnel2TunnelOptions
{
    /// <summary>
    /// How many trusted proxies, each of which adds an address to <c>X-Forwarded-For</c>, are one after another in front of the server, 0
    /// to 16. It chooses the visitor's address, and has no effect where the server is reached directly: then the server's own word is the
    /// only one. Default: 1.
    /// </summary>
    public int ProxiesBeforeServer { get; set; } = 1;
}
