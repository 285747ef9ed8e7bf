using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>The nodes that servers have announced in the life of this process. Guarded by the lock of the group.</summary>
/// <remarks>
/// A server may announce what it likes. It has the token already. It must not get the agent to show the token to another machine on the
/// way, to a server that cannot prove its name, or to let it knock at services of the agent's own machine.
/// </remarks>
internal sealed class KnownNodes(TimeProvider timeProvider, Random random)
{
    /// <summary>How many are kept; the oldest one goes first.</summary>
    public const int Most = NodeAnnouncement.MaxOthers;

    /// <summary>How many addresses that have failed are kept: a list that changes all the time must not clear them at once.</summary>
    public const int MostFailed = 4 * Most;

    /// <summary>For how long others are preferred to one that has failed. Long enough to try all others of a zone that is lost.</summary>
    public static readonly TimeSpan Grudge = TimeSpan.FromMinutes(5);

    /// <summary>For how long one that has refused the agent for good is left alone: its operator may have mended it.</summary>
    public static readonly TimeSpan Rest = TimeSpan.FromMinutes(10);

    /// <summary>
    /// The longest wait before one that was announced in a running session is tried: all agents of that server hear of it at once.
    /// </summary>
    public static readonly TimeSpan LongestNewsWait = TimeSpan.FromSeconds(2);

    private static readonly TimeSpan _longestWait = TimeSpan.FromHours(1);

    private readonly List<KnownNode> _nodes = [];

    /// <summary>By address: an id is what the server says, and it may say another one each time.</summary>
    private readonly Dictionary<ServerEndpoint, Failure> _failed = [];

    /// <summary>How many there are.</summary>
    public int Count => _nodes.Count;

    /// <summary>How many addresses have failed.</summary>
    public int FailedCount => _failed.Count;

    /// <summary>Takes an announcement over.</summary>
    /// <param name="announcement">What the server said.</param>
    /// <param name="via">How that server was reached, and under which name.</param>
    /// <param name="urls">The public URLs of the session.</param>
    /// <param name="isNews">Whether the session runs already: what this server announces no more is forgotten.</param>
    /// <returns>A node that the agent does not use, and why; null: it may use all.</returns>
    public (ServerEndpoint Server, string Why)? Learn(
        NodeAnnouncement announcement, AgentOptions via, IReadOnlyList<string>? urls = null, bool isNews = false)
    {
        (ServerEndpoint Server, string Why)? unused = null;
        if (isNews)
        {
            _nodes.RemoveAll(known => known.By == via.Server && !announcement.Others.Contains(known.Node));
        }

        foreach (var node in announcement.Others.Take(Most))
        {
            // One spelling of a host is one address.
            var server = new ServerEndpoint(node.Host.ToLowerInvariant(), node.Port);
            if (WhyNot(node, via) is { } why)
            {
                unused ??= (server, why);
                continue;
            }

            var before = _nodes.Find(known => known.Options.Server == server);
            _nodes.RemoveAll(known => known.Node.Node == node.Node || known.Options.Server == server);
            _nodes.Add(new KnownNode(
                node,
                via with
                {
                    Server = server,
                    Uplink = UplinkWay.Direct,
                    PublicPort = null,
                    AvoidsThisMachine = !TlsOptionsParser.IsThisMachine(via.Server.Host),
                },
                urls ?? [],
                via.Server,
                before?.HeardAt ?? timeProvider.GetTimestamp(),
                before?.Wait ?? (isNews ? random.NextDouble() * LongestNewsWait : TimeSpan.Zero)));
            if (_nodes.Count > Most)
            {
                _nodes.RemoveAt(0);
            }
        }

        return unused;
    }

    /// <summary>A session with the node did not come about, or ended.</summary>
    /// <param name="node">The node.</param>
    /// <param name="isForGood">Whether it has refused the agent in a way that will not change soon.</param>
    /// <param name="wait">How long the node asks to be left alone.</param>
    public void Failed(KnownNode node, bool isForGood, TimeSpan? wait = null)
    {
        var rest = isForGood ? Rest : wait is { } asked && asked > TimeSpan.Zero ? Min(asked, _longestWait) : TimeSpan.Zero;
        _failed[node.Options.Server] = new Failure(timeProvider.GetTimestamp(), rest);
        if (_failed.Count > MostFailed)
        {
            _failed.Remove(_failed.MinBy(static one => one.Value.At).Key);
        }
    }

    /// <summary>A session with the node came about.</summary>
    public void Succeeded(KnownNode node) => _failed.Remove(node.Options.Server);

    /// <summary>Chooses a node at random: in a zone that is not used yet, and that has not just failed, if there is one.</summary>
    /// <param name="nodes">The ids of nodes in use.</param>
    /// <param name="servers">The addresses in use.</param>
    /// <param name="zones">The zones in use.</param>
    public KnownNode? Choose(
        IReadOnlyCollection<string> nodes, IReadOnlyCollection<ServerEndpoint> servers, IReadOnlyCollection<string> zones)
    {
        var free = _nodes.FindAll(known => !nodes.Contains(known.Node.Node)
            && !servers.Any(server => IsSame(server, known.Options.Server))
            && RestOf(known) <= TimeSpan.Zero);

        // Of those that have failed the one that has waited longest: so all of them get a turn, however many do not answer.
        return free.OrderBy(FailedAt)
            .ThenBy(known => known.Node.Zone.Length > 0 && zones.Contains(known.Node.Zone))
            .ThenBy(_ => random.Next()).FirstOrDefault();
    }

    /// <summary>How long until the next one that wants to be left alone may be tried again; null: there is none.</summary>
    public TimeSpan? NextIn()
    {
        TimeSpan? next = null;
        foreach (var known in _nodes)
        {
            if (RestOf(known) is var left && left > TimeSpan.Zero && !(left > next))
            {
                next = left;
            }
        }

        return next;
    }

    /// <summary>Whether a session with it has failed a short time ago.</summary>
    public bool HasFailed(KnownNode known) => FailedAt(known) != long.MinValue;

    /// <summary>Whether the address may be used with what the agent shows to the server that announced it.</summary>
    internal static bool MayUse(AnnouncedNode node, AgentOptions via) => node.IsValid && WhyNot(node, via) is null;

    /// <summary>Why an address must not be used; null: it may be.</summary>
    private static string? WhyNot(AnnouncedNode node, AgentOptions via) =>
        IsOfThisMachine(node.Host) && !TlsOptionsParser.IsThisMachine(via.Server.Host)
            ? "announced, and not used: it is an address of this machine, or of no single machine"
        : via.Tls is null && !node.Host.Equals(via.Server.Host, StringComparison.OrdinalIgnoreCase)
            ? "announced, and not used: without TLS only nodes at the host of the server are"
        : null;

    private static bool IsSame(ServerEndpoint one, ServerEndpoint other) =>
        one.Port == other.Port && one.Host.Equals(other.Host, StringComparison.OrdinalIgnoreCase);

    private static TimeSpan Min(TimeSpan one, TimeSpan other) => one < other ? one : other;

    /// <summary>How long it is left alone.</summary>
    private TimeSpan RestOf(KnownNode known)
    {
        var wait = known.Wait - timeProvider.GetElapsedTime(known.HeardAt);
        return _failed.TryGetValue(known.Options.Server, out var failed)
            && failed.Rest - timeProvider.GetElapsedTime(failed.At) is var rest && rest > wait
                ? rest
                : wait;
    }

    private long FailedAt(KnownNode known) =>
        _failed.TryGetValue(known.Options.Server, out var failed) && timeProvider.GetElapsedTime(failed.At) < Grudge
            ? failed.At
            : long.MinValue;

    private static bool IsOfThisMachine(string host)
    {
        var name = host.TrimEnd('.');
        if (TlsOptionsParser.IsThisMachine(name))
        {
            return true;
        }

        // Also forms that some resolvers take for an address, such as "127.1" and "0".
        return IPAddress.TryParse(name, out var address) && IsOfThisMachine(address);
    }

    /// <summary>Whether an address is one of this machine, or of no single machine.</summary>
    internal static bool IsOfThisMachine(IPAddress address) =>
        IPAddress.IsLoopback(address) || address.Equals(IPAddress.Any) || address.Equals(IPAddress.IPv6Any)
        || address.IsIPv6LinkLocal || address.IsIPv6Multicast
        || (address.IsIPv4MappedToIPv6 && IsOfThisMachine(address.MapToIPv4()))
        || (address.GetAddressBytes() is [0 or 127, _, _, _] or [169, 254, _, _] or [>= 224, _, _, _]);

    /// <param name="At">When.</param>
    /// <param name="Rest">For how long it is not tried.</param>
    private sealed record Failure(long At, TimeSpan Rest);
}
