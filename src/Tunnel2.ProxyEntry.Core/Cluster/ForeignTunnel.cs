using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>A tunnel of another node that does not carry HTTP.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Kind">What it carries.</param>
/// <param name="Port">Its public port; 0: it has none.</param>
internal readonly record struct ForeignTunnel(string Name, SessionKind Kind, int Port);
