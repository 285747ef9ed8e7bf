namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The subscription hub: keys <c>Tunnel2:Hub:*</c>.</summary>
public sealed class HubOptions
{
    /// <summary>What holds where nothing is set and there are descriptors for it.</summary>
    internal const int DefaultMaxConnections = 12_000;

    /// <summary>
    /// Subscribers at the same time, 1 to 1,000,000, or null for auto (default): 12,000, but no more than a part of the process's limit of open
    /// files. More are answered 503.
    /// </summary>
    public int? MaxConnections { get; set; }

    /// <summary>New subscribers a second from one address, 1 to 1,000,000, in bursts of twice as many; more are answered 429. Default 100.</summary>
    public int ConnectionsPerAddress { get; set; } = 100;
}
