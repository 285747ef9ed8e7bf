using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>A session that wants its name.</summary>
/// <param name="Name">The name.</param>
/// <param name="Identity">A digest of the agent's identity.</param>
/// <param name="Owner">A digest of the owner for whom the name is kept.</param>
/// <param name="Instance">A digest of the agent's process.</param>
/// <param name="Weight">Its share of a pool.</param>
/// <param name="Base">The last epoch under which this node had the name; it counts only where a registration is published later.</param>
/// <param name="Share">Its place beside others; null: it wants the name for itself.</param>
/// <param name="Kind">What it carries.</param>
/// <param name="Port">Its public port; 0: it has none.</param>
/// <param name="Token">The name of the kept token by which its agent was let in; null: by none.</param>
internal sealed record NameClaim(
    string Name, byte[] Identity, byte[] Owner, byte[] Instance, int Weight = 1, long Base = 0, NameShare? Share = null,
    SessionKind Kind = SessionKind.Http, int Port = 0, string? Token = null);
