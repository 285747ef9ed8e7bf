namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>A session of a name at another node.</summary>
/// <param name="Node">The node, with the number of the registration.</param>
/// <param name="Member">Distinguishes the sessions of a name; empty: the session has the name for itself.</param>
/// <param name="IsHealthy">Whether its service works.</param>
/// <param name="IsDraining">Whether its agent is about to stop and still serves.</param>
/// <param name="Weight">Its share of the requests.</param>
internal sealed record NodePlace(NodeLocation Node, string Member = "", bool IsHealthy = true, bool IsDraining = false, int Weight = 1)
{
    /// <summary>How good it is; 0 is the best, and a request gets a worse one only where there is no better one.</summary>
    public int Rank => (IsHealthy ? 0 : 4) + (IsDraining ? 2 : 0);
}
