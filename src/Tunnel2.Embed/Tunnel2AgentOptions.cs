namespace Tunnel2.Embed;

/// <summary>Settings of <see cref="Tunnel2AgentServiceCollectionExtensions.AddTunnel2Agent"/>.</summary>
public sealed class Tunnel2AgentOptions : Tunnel2TunnelOptions
{
    /// <summary>
    /// The server, as in <see cref="Tunnel2WebHostBuilderExtensions.UseTunnel2"/>: such as <c>https://tunnel.example.com</c> or
    /// <c>tls://host:12001</c>.
    /// </summary>
    public string? Server { get; set; }

    /// <summary>
    /// The service that requests are forwarded to: a port (<c>3000</c>), <c>host:port</c>, a URL, a Unix socket (<c>unix:/run/app.sock</c>)
    /// or a named pipe (<c>npipe:app</c>).
    /// </summary>
    public string? Service { get; set; }

    /// <summary>
    /// Which Host the service sees: <c>keep</c> is the visitor's, <c>rewrite</c> its own, anything else a fixed one. Null: the visitor's.
    /// </summary>
    public string? HostHeader { get; set; }
}
