using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Names;

/// <summary>A claim that is on its way to the database. Guarded by the table's lock.</summary>
/// <param name="claim">The claim.</param>
internal sealed class NameClaiming(NameClaim claim)
{
    /// <summary>The claim.</summary>
    public NameClaim Claim { get; } = claim;

    /// <summary>The highest epoch under which another node got the name in that time; 0: none did.</summary>
    public long Foreign { get; set; }
}
