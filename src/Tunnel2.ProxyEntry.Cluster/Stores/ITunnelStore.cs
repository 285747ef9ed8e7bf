namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What the sessions of other nodes carry that is not HTTP.</summary>
internal interface ITunnelStore
{
    /// <summary>The tunnels of TCP, UDP and TLS by name that other nodes serve, the oldest registrations first.</summary>
    /// <param name="node">The node that asks.</param>
    /// <param name="most">How many at most.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task<IReadOnlyList<ForeignTunnel>> ListTunnelsAsync(string node, int most, CancellationToken cancellationToken);

    /// <summary>One of these tunnels that an owner has; null: it has none.</summary>
    /// <param name="node">The node that asks.</param>
    /// <param name="owner">The digest of the owner.</param>
    /// <param name="token">The name of the kept token by which its agent was let in; null: of any, or of none.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task<ForeignTunnel?> FindTunnelAsync(string node, byte[] owner, string? token, CancellationToken cancellationToken);

    /// <summary>Takes a port for a name, until the registration of that name says that it has it.</summary>
    /// <param name="node">The node that asks.</param>
    /// <param name="tunnel">The name, what it carries, and the port.</param>
    /// <param name="life">How long the registration may take.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>Whether it has it; false: another name has, or is about to have, that port at another node.</returns>
    Task<bool> TakePortAsync(string node, ForeignTunnel tunnel, TimeSpan life, CancellationToken cancellationToken);
}
