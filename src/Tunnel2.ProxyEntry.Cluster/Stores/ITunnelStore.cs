namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What the sessions of other nodes carry that is not HTTP.</summary>
internal interface ITunnelStore
{
    /// <summary>The tunnels of TCP, UDP and TLS by name that other nodes serve, the oldest registrations first.</summary>
    /// <param name="node">The node that asks.</param>
    /// <param name="most">How many at most.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task<IReadOnlyList<ForeignTunnel>> ListTunnelsAsync(string node, int most, CancellationToken cancellationToken);
}
