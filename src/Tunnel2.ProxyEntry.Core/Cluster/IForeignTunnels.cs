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

    /// <summary>Raised after <see cref="Ports"/> has changed. Handlers are short and do not throw.</summary>
    event Action? Changed;
}
