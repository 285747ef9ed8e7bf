namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Health, metrics, dashboard and API: keys <c>Tunnel2:Admin:*</c>.</summary>
public sealed class AdminOptions
{
    /// <summary><c>host:port</c>. Default <c>127.0.0.1:12002</c>. Off loopback it needs <see cref="Token"/>.</summary>
    public string Listen { get; set; } = "127.0.0.1:12002";

    /// <summary>
    /// Connections at once, subscribers of the live view not counted: 1 to 1,000,000, or null for auto (default): a part of the process's limit of
    /// open files. They are kept from all others, so that health is answered whatever visitors do. Beyond it those that wait for a request end.
    /// </summary>
    public int? Connections { get; set; }

    /// <summary>
    /// Bearer token that everything but <c>/health/*</c> asks for. Default none: anyone who reaches the listener may read it. Visible ASCII
    /// only. Secret: better given by environment.
    /// </summary>
    public string? Token { get; set; }
}
