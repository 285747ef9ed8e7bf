using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// Opens streams to the nodes of sessions that are not here. Of several nodes a request gets the one that has the best sessions, and among
/// these the one with the fewest requests of this node for each. It goes to one node, and to another one where that did nothing with it;
/// what came from another node stays here. Thread-safe.
/// </summary>
internal sealed class NodeRouter
{
    /// <summary>How many nodes a request is tried at, and again with each look of one that waits.</summary>
    private const int MaxNodes = 3;

    /// <summary>What is worse than any session: a node to which no link is open, while one to another node is.</summary>
    private const int NoLink = 1;

    /// <summary>How often a request that waits for its agent looks for it at other nodes.</summary>
    private static readonly TimeSpan _look = TimeSpan.FromSeconds(1);

    private readonly NodeLinks _links;
    private readonly TimeProvider _timeProvider;
    private readonly ISessionLocator? _locator;
    private int _turn;

    /// <param name="links">The links.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="locator">Knows where sessions are; null: only sessions of this node are served.</param>
    public NodeRouter(NodeLinks links, TimeProvider timeProvider, ISessionLocator? locator)
    {
        _links = links;
        _timeProvider = timeProvider;
        _locator = locator;
    }

    /// <summary>Cancelled when this node is about to stop: WebSockets that it passes to other nodes end then.</summary>
    public CancellationToken Leaving => _links.Leaving;

    /// <summary>Whether a request whose session is not here may be passed to another node.</summary>
    public bool MayPass(VisitorExchange exchange, ForwardedRequest request) =>
        _locator is not null && !exchange.IsFromNode && request.NodesLeft.Streams < MaxNodes;

    /// <summary>Opens a stream, if a node is known and a link to it is open: without a wait.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="name">The name that it is for.</param>
    /// <param name="except">A link that has just refused or lost the request, or null.</param>
    /// <param name="below">Only sessions that are better than this; see <see cref="NodePlace.Rank"/>.</param>
    public TunnelStream? TryOpen(
        VisitorExchange exchange, ForwardedRequest request, ReadOnlySpan<char> name, UplinkStreams? except, int below = int.MaxValue)
    {
        if (!_locator!.TryLocate(name, out var places)
            || Choose(name, places, request, below) is not { } choice
            || _links.TryOpenStream(choice, except, exchange.Home, exchange.IsSettled) is not { } stream)
        {
            return null;
        }

        Note(request, choice, places);
        return stream;
    }

    /// <summary>
    /// Whether another node may have a session for a request that it was not tried at: one has, or the cluster was not asked.
    /// </summary>
    /// <param name="request">The request.</param>
    /// <param name="name">The name that it is for.</param>
    /// <param name="below">Only sessions that are better than this.</param>
    public bool MayHave(ForwardedRequest request, ReadOnlySpan<char> name, int below = int.MaxValue) =>
        !_locator!.TryLocate(name, out var places) || HasOther(request, places, below);

    /// <summary>Asks for the nodes, and opens a link where there is none.</summary>
    /// <returns>The stream, or what is in its way.</returns>
    public async ValueTask<NodeOpening> OpenAsync(
        VisitorExchange exchange, ForwardedRequest request, string name, UplinkStreams? except, int below = int.MaxValue)
    {
        var obstacle = NodeObstacle.NoNode;
        try
        {
            for (var i = 0; i < MaxNodes; i++)
            {
                if (!_locator!.TryLocate(name, out var places))
                {
                    var located = await _locator.LocateAsync(name, exchange.VisitorLeft).ConfigureAwait(false);
                    if (located.Places is not { } found)
                    {
                        return new NodeOpening(
                            located.IsUnanswered && obstacle == NodeObstacle.NoNode ? NodeObstacle.Unanswered : obstacle,
                            located.AwaitedFor);
                    }

                    places = found;
                }

                if (places.IsHere)
                {
                    return new NodeOpening(NodeObstacle.Moving);
                }

                if (Choose(name, places, request, below) is not { } choice)
                {
                    if (HasOther(request, places))
                    {
                        // Worse than what the caller has.
                        return new NodeOpening(obstacle);
                    }

                    // The next look asks again, instead of finding the same places.
                    ForgetAll(name, places);
                    return new NodeOpening(obstacle == NodeObstacle.NoNode ? NodeObstacle.Moving : obstacle);
                }

                var (stream, _) = await _links.OpenStreamAsync(
                    choice, except, exchange.Home, exchange.IsSettled, exchange.VisitorLeft).ConfigureAwait(false);
                if (stream is not null)
                {
                    Note(request, choice, places);
                    if (exchange.Home is { } home)
                    {
                        await new SchedulerYield(home);
                    }

                    return new NodeOpening(default) { Stream = stream };
                }

                obstacle = NodeObstacle.Unreachable;
                request.NodeId = choice.Node.NodeId;
                request.NodesLeft.Add(choice.Node.Epoch);
                _locator.Forget(name, choice.Node.Epoch);
            }
        }
        catch (OperationCanceledException)
        {
            // The visitor has left.
        }

        return new NodeOpening(obstacle);
    }

    /// <summary>Nothing was done with a request at its node.</summary>
    /// <param name="request">Its state.</param>
    /// <param name="name">The name that it is for.</param>
    /// <param name="failure">What the link said.</param>
    /// <returns>Whether the session is not there any more, so that the same link may serve its next place.</returns>
    public bool HasLeft(ForwardedRequest request, string name, in StreamFailure failure)
    {
        if (failure is not { Kind: StreamFailureKind.PeerReset, Detail: StreamResetDetail.SessionLeft })
        {
            return false;
        }

        request.NodesLeft.Add(request.NodeEpoch);
        _locator!.Forget(name, request.NodeEpoch);
        return true;
    }

    /// <summary>Ends after the time in which a request that waits looks again. The caller disposes of it.</summary>
    /// <param name="visitorLeft">Ends earlier.</param>
    public (CancellationTokenSource Timer, CancellationTokenSource Both) CreateLook(CancellationToken visitorLeft)
    {
        var timer = new CancellationTokenSource(_look, _timeProvider);
        return (timer, CancellationTokenSource.CreateLinkedTokenSource(timer.Token, visitorLeft));
    }

    private void ForgetAll(string name, NodePlaces places)
    {
        foreach (ref readonly var node in places.Nodes)
        {
            _locator!.Forget(name, node.Node.Epoch);
        }
    }

    /// <summary>
    /// The node for a request; null: there is none. One to which no link is open is passed over for an equal one that can be reached at
    /// once, and gets its link for the next requests.
    /// </summary>
    private NodeChoice? Choose(ReadOnlySpan<char> name, NodePlaces places, ForwardedRequest request, int below)
    {
        var nodes = places.Nodes;
        var turn = nodes.Length == 1 ? 0 : (uint)Interlocked.Increment(ref _turn);
        var best = -1;
        var (bestRank, bestLoad) = (int.MaxValue, 0L);
        for (var i = 0; i < nodes.Length; i++)
        {
            var position = (int)((turn + (uint)i) % (uint)nodes.Length);
            ref readonly var node = ref nodes[position];
            if (node.Rank >= below || request.NodesLeft.Contains(node.Node.Epoch))
            {
                continue;
            }

            var (streams, isOpen) = _links.Look(node.Node);
            var rank = node.Rank + (isOpen ? 0 : NoLink);
            var load = (streams + 1L) * nodes[Math.Max(0, best)].Weight;
            if (best < 0 || rank < bestRank || (rank == bestRank && load < bestLoad * node.Weight))
            {
                (best, bestRank, bestLoad) = (position, rank, streams + 1L);
            }
        }

        if (best < 0)
        {
            return null;
        }

        for (var i = 0; nodes.Length > 1 && (bestRank & NoLink) == 0 && i < nodes.Length; i++)
        {
            if (nodes[i].Rank == nodes[best].Rank && i != best && !_links.Prepare(nodes[i].Node))
            {
                // No notice says when a lease is over: the cluster is asked again whether the node is still there.
                _locator!.Forget(name.ToString(), nodes[i].Node.Epoch);
            }
        }

        return nodes[best];
    }

    private static bool HasOther(ForwardedRequest request, NodePlaces places, int below = int.MaxValue, long except = 0)
    {
        foreach (ref readonly var node in places.Nodes)
        {
            if (node.Rank < below && node.Node.Epoch != except && !request.NodesLeft.Contains(node.Node.Epoch))
            {
                return true;
            }
        }

        return false;
    }

    private static void Note(ForwardedRequest request, in NodeChoice choice, NodePlaces places)
    {
        request.NodesLeft.Streams++;
        request.NodeId = choice.Node.NodeId;
        request.NodeEpoch = choice.Node.Epoch;
        request.CrossingLinks = choice.Crossing;
        request.HasOtherNodes = request.NodesLeft.Streams < MaxNodes && HasOther(request, places, except: choice.Node.Epoch);
    }
}
