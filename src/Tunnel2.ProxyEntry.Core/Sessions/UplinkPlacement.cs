using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// Chooses the event loop of a session's next uplink, or of a node's next link. The listener gives connections to the loops in turn, for
/// all sessions together. So two uplinks of a session could share a loop while others have none of it.
/// </summary>
internal static class UplinkPlacement
{
    /// <summary>
    /// Moves a fresh connection to the loop with the fewest uplinks of its session. Of several such loops, it takes the one that waits for
    /// the fewest sockets. Loops that are out of service are left out.
    /// </summary>
    /// <param name="loops">The process's loops; empty when the engine has none.</param>
    /// <param name="uplinks">The session's uplinks.</param>
    /// <param name="transport">The connection, after its handshake, with no operation running.</param>
    /// <returns>Where the caller must continue; null: where it is.</returns>
    public static EpollLoop? TryMove(IReadOnlyList<EpollLoop> loops, IReadOnlyList<UplinkConnection> uplinks, IUplinkTransport transport)
    {
        if (loops.Count < 2 || transport.Home is not EpollLoop present)
        {
            return null;
        }

        var best = present;
        var (own, all) = (Count(uplinks, present), present.HandleCount - 1);
        foreach (var loop in loops)
        {
            var (ownHere, allHere) = (Count(uplinks, loop), loop.HandleCount);
            if (loop != present && loop.IsInService && (ownHere < own || (ownHere == own && allHere < all)))
            {
                (best, own, all) = (loop, ownHere, allHere);
            }
        }

        return best != present && transport.TryMoveTo(best) ? best : null;
    }

    private static int Count(IReadOnlyList<UplinkConnection> uplinks, EpollLoop loop)
    {
        var count = 0;
        foreach (var uplink in uplinks)
        {
            count += uplink.Settings.WriterScheduler == loop ? 1 : 0;
        }

        return count;
    }
}
