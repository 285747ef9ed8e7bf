namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What a node has last said about a limit that it shares. Both are parts of the limit: 1 is all of it.</summary>
/// <param name="Node">The node.</param>
/// <param name="Demand">What its visitors want, with what was refused; may be more than 1.</param>
/// <param name="Share">What it may spend.</param>
/// <param name="IsSilent">
/// Nothing was heard of it for a while, but it has sessions: it may be cut off, and spend its last share or an equal part.
/// </param>
/// <param name="IsLost">
/// Nothing was heard of it, and its lease is over: it is dead, or it is cut off, knows it, and spends an equal part at most.
/// </param>
internal readonly record struct ShareReport(string Node, double Demand, double Share, bool IsSilent = false, bool IsLost = false)
{
    /// <summary>More than visitors can want: the sum of some is still a number.</summary>
    private const double MostDemand = 1e9;

    /// <summary>What a row says, which may have been written by hand: what is no part of a limit counts as none.</summary>
    public static ShareReport Of(string node, double demand, double share) => new(
        node, double.IsNaN(demand) ? 0 : Math.Clamp(demand, 0, MostDemand), double.IsNaN(share) ? 0 : Math.Clamp(share, 0, 1));
}
