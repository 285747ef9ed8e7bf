using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Limits;

/// <summary>
/// How nodes divide a limit: each gets the part of it that its visitors are of all visitors, so a request has the same chance at every
/// node. All values are parts of the limit.
/// </summary>
/// <remarks>
/// Nodes decide one after the other, and each sees what the others may spend. A node gives up what others need. One that needs more may
/// take it a moment before they give it up, up to <see cref="Overlap"/> in all: demand that moves is served at once, in part, and the sum
/// is the limit again when each of them has decided. What a node may spend of which nothing is heard is not theirs. When its lease is over
/// it is most likely dead, so they take its part, but not so much that with it all spend more than <see cref="Most"/>.
/// </remarks>
internal static class TierShares
{
    /// <summary>The sum of all shares at most, while demand moves.</summary>
    public const double Overlap = 1.4;

    /// <summary>
    /// The sum of all shares at most, with those of nodes that are taken for lost, if these are cut off: 1.5 times the limit, and somewhat
    /// less, because each bucket also has its part of the burst.
    /// </summary>
    public const double Most = 1.45;

    /// <summary>What nodes without demand may spend, all together: with it they begin.</summary>
    public const double FloorOfAll = 0.06;

    /// <summary>What a node may spend before it knows of others.</summary>
    public const double Start = 0.1;

    /// <summary>What a node may lack: less is mostly chance, and each move of a share costs a moment of it.</summary>
    private const double Short = 0.05;

    /// <summary>The same, as a part of what the node should have.</summary>
    private const double ShortOfOwn = 0.25;

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
        var nodes = Math.Max(view.Nodes, view.Others.Count + 1);
        if (nodes == 1)
        {
            return (1, false);
        }

        var (total, claimed, reserved, lost, sharing) = (demand, 0.0, 0.0, 0.0, 1);
        foreach (var other in view.Others)
        {
            if (other.IsLost)
            {
                lost += 1.0 / nodes;
                continue;
            }

            if (other.IsSilent)
            {
                // If it is cut off, it spends its last share, and an equal part later.
                reserved += Math.Max(other.Share, 1.0 / nodes);
                continue;
            }

            total += other.Demand;
            claimed += other.Share;
            sharing++;
        }

        // Nodes without a report have what nodes without demand have.
        var most = Most - lost - ((nodes - 1 - view.Others.Count) * Floor(nodes));
        var whole = Math.Max(0, Math.Min(1, most) - reserved);

        // What no node wants is divided equally among all.
        var (floor, alike) = (Floor(nodes), Math.Max(0, (whole - total) / sharing));
        var wanted = Wanted(demand);
        var (need, isNeeded) = (0.0, false);
        foreach (var other in view.Others)
        {
            if (!other.IsSilent && !other.IsLost && Wanted(other.Demand) is var due && due > other.Share)
            {
                need += due - other.Share;
                isNeeded |= IsShort(other.Share, due);
            }
        }

        if (!isNeeded && need < Short)
        {
            need = 0;
        }

        var share = view.Own;
        var spare = whole - claimed - share;
        if (IsShort(share, wanted))
        {
            // At once, although others have yet to give it up.
            var more = Math.Clamp(Math.Max(whole, Overlap - lost - reserved) - claimed - share, 0, wanted - share);
            share += more;
            spare -= more;
        }

        if (!IsShort(share, wanted))
        {
            share = Math.Max(Math.Min(share, wanted), share + spare - need);
        }

        return (Math.Clamp(share, floor, 1), IsShort(share, wanted));

        double Wanted(double one) => Math.Max(
            floor, total <= Nothing ? whole / sharing : alike + ((whole - (sharing * alike)) * one / total));
    }

    private static bool IsShort(double share, double wanted) => wanted - share > Math.Min(Short, ShortOfOwn * wanted);
}
