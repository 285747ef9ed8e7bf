using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>
/// The tunnels of TCP, UDP and TLS by name that other nodes have: this node accepts their visitors too. Where a session is when one comes,
/// the <see cref="ISessionLocator"/> knows. Only a node has it. Thread-safe.
/// </summary>
internal interface IForeignTunnels
{
    /// <summary>Whether there are any of TLS.</summary>
    bool HasTls { get; }

    /// <summary>The tunnels with a public port, the oldest first.</summary>
    IReadOnlyList<ForeignTunnel> Ports { get; }

    /// <summary>Whether a name is that of a tunnel of TLS, or was a moment ago. Does not wait or allocate.</summary>
    bool IsTls(ReadOnlySpan<char> name);

    /// <summary>All that there are now: as the database has them, or, where it does not answer, as they were.</summary>
    Task<IReadOnlyCollection<ForeignTunnel>> ReadAsync(CancellationToken cancellationToken);

    /// <summary>
    /// A tunnel that an owner has at another node, with the kept token of this name where one is given; null: none, or the database does
    /// not answer.
    /// </summary>
    Task<ForeignTunnel?> FindAsync(AgentIdentity owner, string? token, CancellationToken cancellationToken);

    /// <summary>
    /// Asks, for all nodes, whether a name may have a port: of several that ask at once for one port, one name has it.
    /// </summary>
    /// <exception cref="SharedUnavailableException">The database, which decides, does not answer.</exception>
    /// <param name="kind">TCP or UDP.</param>
    /// <param name="port">The port, which is free at this node.</param>
    /// <param name="name">The name, whose registration follows at once.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task<bool> MayHaveAsync(SessionKind kind, int port, string name, CancellationToken cancellationToken);

    /// <summary>Raised after <see cref="Ports"/> has changed. Handlers are short and do not throw.</summary>
    event Action? Changed;
}
