using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Limits;

/// <summary>
/// How nodes divide a limit: each gets the part of it that its visitors are of all visitors, so a request has the same chance at every
/// node. All values are parts of the limit.
/// </summary>
/// <remarks>
/// Nodes decide one after the other, and each sees what the others may spend. A node gives up what others need. One that needs more may
/// take it a moment before they give it up, up to <see cref="Overlap"/> in all: demand that moves is served at once, in part, and the sum
/// is the limit again when each of them has decided.
/// </remarks>
internal static class TierShares
{
    /// <summary>The sum of all shares at most, while demand moves.</summary>
    public const double Overlap = 1.4;

    /// <summary>What nodes without demand may spend, all together: with it they begin.</summary>
    public const double FloorOfAll = 0.06;

    /// <summary>What a node may spend before it knows of others.</summary>
    public const double Start = 0.1;

    /// <summary>What a node may lack before it asks again soon.</summary>
    private const double Short = 0.05;

    /// <summary>Too little to count.</summary>
    private const double Nothing = 1e-9;

    /// <summary>What a node may spend without a share.</summary>
    /// <param name="nodes">The nodes that have sessions of the name.</param>
    public static double Floor(int nodes) => nodes <= 1 ? 1 : FloorOfAll / nodes;

    /// <summary>A node's next share.</summary>
    /// <param name="demand">What its visitors want.</param>
    /// <param name="view">What all nodes have.</param>
    /// <returns>The share, and whether it is less than what the node should have: others have yet to give it up.</returns>
    public static (double Share, bool IsShort) Next(double demand, in ShareView view)
    {
        var others = view.Others;
        var sharing = others.Count + 1;
        var nodes = Math.Max(view.Nodes, sharing);
        if (nodes == 1)
        {
            return (1, false);
        }

        var (total, claimed) = (demand, 0.0);
        foreach (var other in others)
        {
            total += other.Demand;
            claimed += other.Share;
        }

        // What nobody wants is for all alike.
        var (floor, alike) = (Floor(nodes), Math.Max(0, (1 - total) / sharing));
        var wanted = Wanted(demand);
        var need = 0.0;
        foreach (var other in others)
        {
            need += Math.Max(0, Wanted(other.Demand) - other.Share);
        }

        var share = view.Own;
        var spare = 1 - claimed - share;
        if (share < wanted)
        {
            // At once, although others have yet to give it up.
            var more = Math.Clamp(Overlap - claimed - share, 0, wanted - share);
            share += more;
            spare -= more;
        }

        if (share >= wanted)
        {
            share = Math.Max(wanted, share + spare - need);
        }

        return (Math.Clamp(share, floor, 1), share < wanted - Short);

        double Wanted(double one) => Math.Max(
            floor, total <= Nothing ? 1.0 / sharing : alike + ((1 - (sharing * alike)) * one / total));
    }
}
