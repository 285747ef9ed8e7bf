using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>The nodes that servers have announced in the life of this process. Guarded by the lock of the group.</summary>
/// <remarks>
/// A server may announce what it likes. It has the token already. It must not get the agent to show the token to anybody on the way, to a
/// server that cannot prove its name, or to let it knock at services of the agent's own machine.
/// </remarks>
internal sealed class KnownNodes(TimeProvider timeProvider, Random random)
{
    /// <summary>How many are kept; the oldest one goes first.</summary>
    public const int Most = NodeAnnouncement.MaxOthers;

    /// <summary>For how long others are preferred to one that has failed.</summary>
    private static readonly TimeSpan _grudge = TimeSpan.FromMinutes(1);

    private readonly List<KnownNode> _nodes = [];
    private readonly Dictionary<string, (long At, bool IsForGood)> _failed = new(StringComparer.Ordinal);

    /// <summary>How many there are.</summary>
    public int Count => _nodes.Count;

    /// <summary>Takes an announcement over.</summary>
    /// <param name="announcement">What the server said.</param>
    /// <param name="via">How that server was reached.</param>
    public void Learn(NodeAnnouncement announcement, AgentOptions via)
    {
        foreach (var node in announcement.Others.Take(Most))
        {
            if (!MayUse(node, via))
            {
                continue;
            }

            var server = new ServerEndpoint(node.Host, node.Port);
            _nodes.RemoveAll(known => known.Node.Node == node.Node || known.Options.Server == server);
            _nodes.Add(new KnownNode(node, via with { Server = server, Uplink = UplinkWay.Direct, PublicPort = null }));
            if (_nodes.Count > Most)
            {
                _failed.Remove(_nodes[0].Node.Node);
                _nodes.RemoveAt(0);
            }
        }
    }

    /// <summary>A session with the node did not come about, or ended.</summary>
    /// <param name="node">The node.</param>
    /// <param name="isForGood">Whether it has refused the agent in a way that will not change.</param>
    public void Failed(KnownNode node, bool isForGood)
    {
        if (_nodes.Exists(known => known.Node.Node == node.Node.Node))
        {
            _failed[node.Node.Node] = (timeProvider.GetTimestamp(), isForGood);
        }
    }

    /// <summary>A session with the node came about.</summary>
    public void Succeeded(KnownNode node) => _failed.Remove(node.Node.Node);

    /// <summary>Draws a node by lot: in a zone that is not used yet, and that has not just failed, if there is one.</summary>
    /// <param name="nodes">The ids of nodes in use.</param>
    /// <param name="servers">The addresses in use.</param>
    /// <param name="zones">The zones in use.</param>
    public KnownNode? Choose(
        IReadOnlyCollection<string> nodes, IReadOnlyCollection<ServerEndpoint> servers, IReadOnlyCollection<string> zones)
    {
        var free = _nodes.FindAll(known => !nodes.Contains(known.Node.Node) && !servers.Contains(known.Options.Server)
            && !(_failed.TryGetValue(known.Node.Node, out var failed) && failed.IsForGood));
        return free.Count == 0
            ? null
            : free.OrderBy(known => _failed.TryGetValue(known.Node.Node, out var failed)
                    && timeProvider.GetElapsedTime(failed.At) < _grudge)
                .ThenBy(known => known.Node.Zone.Length > 0 && zones.Contains(known.Node.Zone))
                .ThenBy(_ => random.Next()).First();
    }

    /// <summary>Whether the address may be used with what the agent shows to the server that announced it.</summary>
    internal static bool MayUse(AnnouncedNode node, AgentOptions via) =>
        node.IsValid
        && (via.Tls is not null || node.Host.Equals(via.Server.Host, StringComparison.OrdinalIgnoreCase))
        && (!IsOfThisMachine(node.Host) || TlsOptionsParser.IsThisMachine(via.Server.Host));

    private static bool IsOfThisMachine(string host)
    {
        var name = host.TrimEnd('.');
        if (TlsOptionsParser.IsThisMachine(name))
        {
            return true;
        }

        // Also forms that some resolvers take for an address, such as "127.1" and "0".
        return IPAddress.TryParse(name, out var address)
            && (IPAddress.IsLoopback(address) || address.Equals(IPAddress.Any) || address.Equals(IPAddress.IPv6Any)
                || address.IsIPv6LinkLocal || address.IsIPv6Multicast
                || (address.IsIPv4MappedToIPv6 && IsOfThisMachine(address.MapToIPv4().ToString()))
                || (address.GetAddressBytes() is [0 or 127, _, _, _] or [169, 254, _, _] or [>= 224, _, _, _]));
    }
}
