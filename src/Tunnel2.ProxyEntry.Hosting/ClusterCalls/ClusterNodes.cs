using System.Buffers;
using System.Collections.Concurrent;
using System.Globalization;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// Calls the API of the nodes of the cluster, of which this node itself is one. Each call has a limit of time, and each node one of calls
/// at once. Thread-safe.
/// </summary>
internal sealed class ClusterNodes(
    ProxyEntrySettings settings, NodeLinks links, NodeLinkMetrics metrics, ApiAudit audit, TimeProvider time, ContainedFaults faults,
    IOtherNodes? others = null, ISessionLocator? locator = null)
{
    /// <summary>Calls to one node at once.</summary>
    public const int MostCalls = 32;

    /// <summary>The longest answer that is taken whole: a page of sessions is some hundred kilobytes.</summary>
    public const int LongestReply = 8 * 1024 * 1024;

    /// <summary>How long a node has for what is shown together with the answers of others.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);

    /// <summary>The same for one that did not answer in time a moment ago: no call waits for it again and again.</summary>
    public static readonly TimeSpan ShortPatience = TimeSpan.FromMilliseconds(250);

    /// <summary>How long that counts.</summary>
    private static readonly TimeSpan _memory = TimeSpan.FromSeconds(5);

    /// <summary>As many as <see cref="IOtherNodes.Known"/> has at most: with more, those of a session are asked for.</summary>
    private const int ManyNodes = 16;

    private readonly ConcurrentDictionary<string, NodeCalls> _calls = new(StringComparer.Ordinal);

    /// <summary>Whether this server is a node of a cluster.</summary>
    public bool Exist => others is not null;

    /// <summary>This node.</summary>
    public string Self => others?.Self ?? settings.EntryId;

    /// <summary>All nodes that may have something of a session, this one first.</summary>
    /// <param name="session">Its name; null: of any.</param>
    /// <param name="left">Ends the wait, of a second at most.</param>
    public async ValueTask<IReadOnlyList<NodeLocation>> ListAsync(string? session, CancellationToken left)
    {
        others!.Ask();
        var known = others.Known;
        var all = new List<NodeLocation> { new(Self, "", 0) };
        all.AddRange(known.Where(node => node.NodeId != Self));
        if (known.Count >= ManyNodes && session is not null && locator is not null
            && await locator.LocateAsync(session, left).ConfigureAwait(false) is { Places: { } places })
        {
            foreach (var choice in places.Nodes)
            {
                if (all.TrueForAll(node => node.NodeId != choice.Node.NodeId))
                {
                    all.Add(choice.Node);
                }
            }
        }

        return all;
    }

    /// <summary>What a list says of nodes that were there until some minutes ago. They are not asked.</summary>
    public IEnumerable<NodeReply> Lost()
    {
        var (known, since) = (others!.Known, time.GetUtcNow() - LostNode.ShownFor);
        return others.Lost.Where(lost => lost.At >= since && lost.Location.NodeId != Self
                && known.All(node => node.NodeId != lost.Location.NodeId))
            .Select(static lost => NodeReply.Lost(lost.Location.NodeId, "its lease is over"));
    }

    /// <summary>Where a node is; null: there is none of this name.</summary>
    public NodeLocation? Find(string node) =>
        node == Self ? new NodeLocation(Self, "", 0)
        : others!.Known.Where(other => other.NodeId == node).Select(static other => (NodeLocation?)other).FirstOrDefault();

    /// <summary>One call, whose answer is taken whole. Never throws, except where the caller has left.</summary>
    /// <param name="http">The request that it is for.</param>
    /// <param name="node">The node.</param>
    /// <param name="method">The method.</param>
    /// <param name="target">Path and query.</param>
    /// <param name="here">Answers what is for this node.</param>
    /// <param name="wait">How much longer than usual the answer may take, because it waits for something.</param>
    /// <param name="stop">Gives up.</param>
    public async Task<NodeReply> AskAsync(
        HttpContext http, NodeLocation node, string method, string target, Func<HttpContext, Task> here, TimeSpan wait,
        CancellationToken stop)
    {
        // In turn with the others: this node's own part may take its time too.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        var calls = _calls.GetOrAdd(node.NodeId, static (_, time) => new NodeCalls(time), time);
        using var late = new CancellationTokenSource(wait + (calls.IsLate(_memory) ? ShortPatience : Patience), time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(late.Token, stop);
        try
        {
            var reply = node.LinkAddress.Length == 0
                ? await AskHereAsync(http, method, target, here, either.Token).ConfigureAwait(false)
                : await AskThereAsync(
                    http, node, new NodeCallRequest(method, target) { Waits = wait > TimeSpan.Zero }, either.Token).ConfigureAwait(false);
            calls.MarkAnswered();
            return reply;
        }
        catch (OperationCanceledException)
        {
            http.RequestAborted.ThrowIfCancellationRequested();
            if (late.IsCancellationRequested)
            {
                calls.MarkLate();
                Failed(node, "timeout");
            }

            return NodeReply.Lost(node.NodeId, "it does not answer in time");
        }
        catch (Exception exception) when (exception is IOException or InvalidDataException or ObjectDisposedException)
        {
            Failed(node, exception is InvalidDataException ? "answer" : "cut");
            return NodeReply.Lost(node.NodeId, exception is InvalidDataException ? exception.Message : "the call was cut");
        }
        catch (Exception exception)
        {
            faults.Add("call of a node", exception);
            return NodeReply.Lost(node.NodeId, "a fault of this node");
        }
    }

    /// <summary>One call to all nodes that may have something of its session.</summary>
    public async Task<IReadOnlyList<NodeReply>> AskAllAsync(ClusterCall call, string target, string? method = null)
    {
        var all = await ListAsync(call.Session, call.Left).ConfigureAwait(false);
        return await Task.WhenAll(all.Select(node => AskAsync(
            call.Http, node, method ?? call.Method, target, call.Here, TimeSpan.Zero, call.Left))).ConfigureAwait(false);
    }

    /// <summary>One call, whose answer is passed on as it comes.</summary>
    /// <param name="http">The request that it is for.</param>
    /// <param name="node">Another node.</param>
    /// <param name="request">The call.</param>
    /// <param name="stop">Cuts it, also while the answer is read.</param>
    /// <returns>The answer and its place among the calls, both the caller's to dispose of; or why there is none.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async Task<(NodeCallAnswer? Answer, IDisposable? Place, NodeFeedProblem? Problem)> CallAsync(
        HttpContext http, NodeLocation node, NodeCallRequest request, CancellationToken stop)
    {
        metrics.Called(isOut: true);
        var calls = _calls.GetOrAdd(node.NodeId, static (_, time) => new NodeCalls(time), time);
        if (calls.TryEnter() is not { } place)
        {
            metrics.CallFailed(isOut: true, "busy");
            return (null, null, new NodeFeedProblem("as many calls to it run as may", IsOlder: false));
        }

        NodeCallAnswer? answer = null;
        var begun = time.GetTimestamp();
        try
        {
            (answer, var problem) = await links.CallAsync(
                node,
                request with { Address = http.Connection.RemoteIpAddress, Credential = audit.Credential },
                stop).ConfigureAwait(false);
            Count(answer, problem, request.Waits ? null : time.GetElapsedTime(begun));
            return (answer, answer is null ? null : place, problem);
        }
        finally
        {
            if (answer is null)
            {
                place.Dispose();
            }
        }
    }

    /// <summary>A call to a node has ended in a way that only who waited for it knows.</summary>
    /// <param name="node">The node; this one's own part is no call.</param>
    /// <param name="reason">One of a few words.</param>
    public void Failed(NodeLocation node, string reason)
    {
        if (node.LinkAddress.Length > 0)
        {
            metrics.CallFailed(isOut: true, reason);
        }
    }

    private void Count(NodeCallAnswer? answer, NodeFeedProblem? problem, TimeSpan? after)
    {
        if (answer is null)
        {
            metrics.CallFailed(isOut: true, problem!.Reason);
            return;
        }

        if (after is { } took)
        {
            metrics.CallAnswered(took);
        }

        if (answer.Status >= StatusCodes.Status500InternalServerError)
        {
            metrics.CallFailed(isOut: true, answer.Status.ToString(CultureInfo.InvariantCulture));
        }
    }

    private async Task<NodeReply> AskHereAsync(
        HttpContext http, string method, string target, Func<HttpContext, Task> here, CancellationToken stop)
    {
        var output = new MemoryStream();
        var own = NodeCallContext.TryMake(
            method, target, new NodeCaller("", audit.Credential), http.Connection.RemoteIpAddress, output, stop)!;
        own.Request.Body = Stream.Null;
        await here(own).ConfigureAwait(false);
        stop.ThrowIfCancellationRequested();
        return new NodeReply(Self, own.Response.StatusCode, own.Response.ContentType ?? "", output.ToArray());
    }

    private async Task<NodeReply> AskThereAsync(
        HttpContext http, NodeLocation node, NodeCallRequest request, CancellationToken stop)
    {
        var (answer, place, problem) = await CallAsync(http, node, request, stop).ConfigureAwait(false);
        if (answer is null)
        {
            return NodeReply.Lost(node.NodeId, problem!.Text, problem.IsOlder);
        }

        using (place)
        using (answer)
        {
            var body = new ArrayBufferWriter<byte>();
            while (await answer.Body.ReadAsync(body.GetMemory(16 * 1024), stop).ConfigureAwait(false) is > 0 and var read)
            {
                body.Advance(read);
                if (body.WrittenCount > LongestReply)
                {
                    throw new InvalidDataException("its answer is too long");
                }
            }

            stop.ThrowIfCancellationRequested();
            return new NodeReply(
                node.NodeId, answer.Status,
                answer.Fields.FirstOrDefault(static field => field.Key.Equals("Content-Type", StringComparison.OrdinalIgnoreCase)).Value
                    ?? "",
                body.WrittenMemory);
        }
    }
}
