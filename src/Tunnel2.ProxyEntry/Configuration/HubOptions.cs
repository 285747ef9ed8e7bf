namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The subscription hub: keys <c>Tunnel2:Hub:*</c>.</summary>
public sealed class HubOptions
{
    /// <summary>Subscribers at the same time, 1 to 1,000,000; more are answered 503. Default 12,000.</summary>
    public int MaxConnections { get; set; } = 12_000;

    /// <summary>New subscribers a second from one address, 1 to 1,000,000, in bursts of twice as many; more are answered 429. Default 100.</summary>
    public int ConnectionsPerAddress { get; set; } = 100;
}
