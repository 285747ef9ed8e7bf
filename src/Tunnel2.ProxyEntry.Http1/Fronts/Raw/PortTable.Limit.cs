using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <content>
/// How many ports one agent has at most, so that no agent takes all. Ports that are kept for it count. At the limit, the port that it has
/// left first makes room for another one of its own.
/// </content>
internal sealed partial class PortTable
{
    private TunnelPort RefuseOfLimit() => new(
        null,
        new RejectMessage(
            RejectCode.PortLimitReached,
            _later,
            FormattableString.Invariant($"The agent has {_mostOfAgent} ports, and may have no more.")));

    /// <summary>Whether an agent has as many ports as it may.</summary>
    /// <param name="owner">The agent.</param>
    /// <param name="left">
    /// At the limit: of the ports that are kept for it, and where no visitor waits any more, the one that it has left first; null: none.
    /// </param>
    /// <param name="heir">A name that is to have that port; null: it will be free.</param>
    /// <param name="others">Ports that the name cannot have.</param>
    private bool IsAtLimitUnsynchronized(
        AgentIdentity owner, out PublicPort? left, string? heir = null, IReadOnlySet<int>? others = null)
    {
        left = null;
        var present = 0;
        foreach (var port in _ports.Values)
        {
            if (port.Owner != owner)
            {
                continue;
            }

            present++;
            if (port.Users == 0 && (left is null || port.LeftAt < left.LeftAt) && others?.Contains(port.Port) != true
                && (heir is null || !IsOfAnotherUnsynchronized(port.Port, heir))
                && _timeProvider.GetElapsedTime(port.LeftAt) >= _parked)
            {
                left = port;
            }
        }

        if (present >= _mostOfAgent)
        {
            return true;
        }

        left = null;
        return false;
    }
}
